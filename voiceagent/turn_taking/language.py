"""The facts about a language that turn-taking needs: which words agree, refuse, command or are only backchannels, and which leave
a sentence open; and those that a telephone needs. Data; each file of `languages/` holds one language. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from voiceagent.turn_taking.person_request import PersonWords


@dataclass(frozen=True, slots=True)
class PhoneWords:
    """The telephone's words in one language. Phrases are as `language.phrase_set` makes them. Those that tell a machine, a
    service or a person may have gaps, except `holds`."""

    machine: frozenset[tuple[str, ...]] = frozenset()
    """Words in a row that machines say, and a person who answers only when they ask, offer something or speak of another one."""
    sure: frozenset[tuple[str, ...]] = frozenset()
    """Words in a row that only a machine says."""
    absent: frozenset[tuple[str, ...]] = frozenset()
    """Words in a row that machines say, and now and then a person who answers for another one."""
    acts: frozenset[tuple[str, ...]] = frozenset()
    """Words in a row by which a person who answers says what they do now, or offers to do. No machine says them."""
    asks: frozenset[tuple[str, ...]] = frozenset()
    """Words in a row by which a person who answers asks something, and now and then a machine."""
    another: frozenset[str] = frozenset()
    """Words for one who is spoken of."""
    screens: frozenset[tuple[str, ...]] = frozenset()
    """Words in a row of a service that asks who calls before it puts them through."""
    callers: frozenset[tuple[str, ...]] = frozenset()
    """Words for who calls. Beside one of `reasons`, a service says them, unless something is asked or offered."""
    reasons: frozenset[tuple[str, ...]] = frozenset()
    """Words for what somebody calls about, or for what follows once such a service knows."""
    holds: frozenset[tuple[str, ...]] = frozenset()
    """Words in a row with which such a service then has the caller wait."""
    collect_digits: str = ""
    """The description of the tool `collect_digits` for the language model."""
    collecting: str = ""
    """The result of `collect_digits`."""
    transfer: str = ""
    """The description of the tool `transfer` for the language model."""
    transferring: str = ""
    """The result of `transfer`, where the transfer follows the reply."""
    stop_recording: str = ""
    """The description of the tool `stop_recording` for the language model."""
    press_keys: str = ""
    """The description of the tool `press_keys` for the language model."""
    call_facts: str = ""
    """Put in front of what is known of the caller in the language model's instructions."""
    person: PersonWords = field(default_factory=PersonWords)
    """The words with which callers ask for a person."""


@dataclass(frozen=True, slots=True)
class TransferWords:
    """An agent's sentences in a warm transfer, in one language."""

    connecting: str = ""
    """To the caller, before they wait."""
    opening: str = ""
    """To the colleague, when they answer."""
    ask: str = ""
    """Has the language model write what follows the opening."""
    unknown: str = ""
    """Follows the opening if the language model failed."""
    press: str = ""
    """Asks the colleague for the key that takes the call; `{key}` stands for it."""
    gone: str = ""
    """To the colleague, when the caller has hung up before both were joined."""
    joined: str = ""
    """To both, before the agent leaves."""


@dataclass(frozen=True, slots=True)
class ValueWords:
    """An agent's sentences where it collects a value itself."""

    ask: Mapping[str, str] = field(default_factory=dict)
    """The question for a value of each kind."""
    read_back: str = ""
    """Asks whether a value was heard right; `{value}` stands for it."""
    rest: str = ""
    """Asks for the rest of a value of which a part was said."""
    again: str = ""
    """Before a question that is asked again, because the answer was no such value or not right."""
    thanks: str = ""
    """Before the question for the next value."""
    card: str = ""
    """A card that is read back; `{digits}` stands for its last ones."""


@dataclass(frozen=True, slots=True)
class Abbreviations:
    """A language's words and abbreviations whose full stop ends no sentence. Words are in small letters; abbreviations have their
    full stops."""

    never: frozenset[str] = frozenset()
    """No sentence ends with them: titles, "e.g."."""
    before_number: frozenset[str] = frozenset()
    """They go on with a number or a letter: "No. 5", "Fig. 3", "Jan. 5". Before a word the sentence has ended."""
    compounds: frozenset[str] = frozenset()
    """Ends of words that go on with a number: "Hauptstr. 5"."""
    before_name: frozenset[str] = frozenset()
    """They go on with a name, which a word of `starters` is not: "St. Louis"."""
    may_end: frozenset[str] = frozenset()
    """A sentence often ends with them: "etc.", "a.m.". A word in capitals, or one of `names`, continues it."""
    names: frozenset[str] = frozenset()
    """Words with a capital letter that may follow a time of day: days, months, time zones."""
    starters: frozenset[str] = frozenset()
    """Words with which sentences begin and names do not."""
    pronouns: frozenset[str] = frozenset()
    """Single letters that are words."""
    lettered: frozenset[str] = frozenset()
    """Words that a letter follows as their name: "Plan B."."""
    months: frozenset[str] = frozenset()
    """Months, if the language writes ordinals with a full stop."""
    before_ordinal: frozenset[str] = frozenset()
    """Words before an ordinal, if the language writes ordinals with a full stop: "der 2. Weltkrieg"."""


WordClass = Literal["filler", "joiner", "determiner", "preposition", "auxiliary", "pronoun", "verb"]
"""A closed class of words with which a sentence hardly ever ends."""

_MARK = re.compile(r"[^\w\s]|_")


def bare_words(text: str) -> list[str]:
    """Words without case, punctuation and hyphens."""
    return _MARK.sub("", text.casefold()).split()


def word_set(text: str) -> frozenset[str]:
    """Words of a language's file, separated by spaces, as `bare_words` writes them."""
    return frozenset(bare_words(text))


def written_set(text: str) -> frozenset[str]:
    """Words of a language's file, separated by spaces, as they stand there."""
    return frozenset(text.split())


GAP = "*"
"""Stands in a phrase for a few words, or none, where that is said of its list."""


def phrase_set(text: str) -> frozenset[tuple[str, ...]]:
    """Phrases of a language's file, separated by bars, each as `bare_words` writes it, and gaps."""
    return frozenset(
        tuple(word for part in phrase.split() for word in ([GAP] if part == GAP else bare_words(part)))
        for phrase in text.split("|")
        if phrase.strip()
    )


def has_phrase(words: list[str], phrases: frozenset[tuple[str, ...]]) -> bool:
    """True if any of the phrases stands somewhere in the words."""
    return any(tuple(words[at : at + len(phrase)]) == phrase for phrase in phrases for at in range(len(words)))


def without_phrases(words: list[str], phrases: frozenset[tuple[str, ...]]) -> tuple[list[str], int]:
    """The words that belong to no phrase, the longest phrase removed first, and how many phrases there were."""
    left, found, at = list[str](), 0, 0
    longest_first = sorted(phrases, key=len, reverse=True)
    while at < len(words):
        phrase = next((one for one in longest_first if tuple(words[at : at + len(one)]) == one), None)
        if phrase is None:
            left.append(words[at])
        found += phrase is not None
        at += 1 if phrase is None else len(phrase)
    return left, found


def number_words(ones: str, tens: str, others: Mapping[str, int]) -> Mapping[str, int]:
    """The words for 0, 1, 2 … and for 20, 30 …, each in order, and the `others`."""
    known = {word: value for value, word in enumerate(ones.split())}
    known |= {word: 10 * value for value, word in enumerate(tens.split(), 2)}
    return {bare_words(word)[0]: value for word, value in (known | dict(others)).items()}


@dataclass(frozen=True, slots=True)
class Sayings:
    """An agent's own sentences, unless its settings replace them."""

    check_in: str = ""
    farewell: str = ""
    apology: str = ""
    not_understood: str = ""
    """To a caller of whom no word was understood."""
    stopped: str = ""
    """To a caller who only told the agent to stop or to wait."""
    offer_person: str = ""
    """Asks a caller who was not understood several times whether they want a person. A yes is an answer."""
    fillers: tuple[str, ...] = ()
    """While a tool takes its time."""
    blocked_output: str = ""
    """Instead of a reply that a guard withheld."""
    blocked_input: str = ""
    """In answer to words that a guard withheld."""
    code: str = ""
    """In place of a block of code."""
    transfer: str = ""
    """Before the caller is transferred to a person."""
    transfer_failed: str = ""
    """To a caller whom nobody could take over."""
    resumed: str = ""
    """To a caller whose connection was lost, before what was left to say."""
    recording_deleted: str = ""
    """To a caller who did not want to be recorded."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """Texts for the language model besides the instructions and the conversation."""

    summary: str = ""
    """Put in front of the summary of the earlier conversation."""
    sum_up: str = ""
    """Asks for that summary."""
    context: str = ""
    """Put in front of what documents say."""
    tool_interrupted: str = ""
    """In place of a result: the tool was ended with its reply."""
    tool_pending: str = ""
    """In place of a result that the reply does not wait for."""
    tool_running: str = ""
    """In place of a result: the tool goes on after its reply was cancelled."""
    tool_outcome_unknown: str = ""
    """In place of a result: the tool ran when its server stopped."""
    tool_not_confirmed: str = ""
    """In place of a result: the caller is asked first."""
    tool_other_unconfirmed: str = ""
    """In place of a result: the caller is asked about another one first."""
    tool_not_asked_for: str = ""
    """In place of a result: the caller's words asked for nothing, so the tool did not run. A small model reads it out."""
    end_call: str = ""
    """Describes the tool with which the agent ends the call."""
    end_call_reason: str = ""
    """Describes its argument."""
    call_ends: str = ""
    """Its result."""
    note: str = ""
    """Describes the tool with which the agent keeps values that its step collects."""
    go_to_step: str = ""
    """Describes the tool with which it goes to a step that the caller asks for."""
    known_values: str = ""
    """Put in front of the values that are known when a step begins."""
    collected_values: str = ""
    """Put in front of the names of the values that the agent collects without the language model."""
    tool_lacks_values: str = ""
    """In place of a result: the caller is asked for values that the tool needs."""
    value_given_up: str = ""
    """In place of a value that the caller did not tell."""

    def with_texts(self, texts: Mapping[str, str]) -> Prompts:
        """The prompts with these texts in place of their own, by field."""
        return replace(self, **texts) if texts else self


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """One language. Words are as `bare_words` writes them."""

    code: str
    """ISO 639-1; empty where none is known."""
    name: str
    """In English."""
    also_called: str = ""
    """Other names of the language that people may write in place of the code, separated by spaces: its own, codes of ISO
    639-2."""
    yes: frozenset[str] = frozenset()
    """Words that agree alone."""
    beside_yes: frozenset[str] = frozenset()
    """Words that do not change a yes."""
    yes_phrases: frozenset[tuple[str, ...]] = frozenset()
    """Phrases that agree although their words do not."""
    no: frozenset[str] = frozenset()
    """Words that refuse, wherever they stand."""
    halts: frozenset[tuple[str, ...]] = frozenset()
    """Words and phrases that tell the agent to be silent, to wait or to let a matter be. They take the floor wherever they stand,
    and they answer no question."""
    dismissals: frozenset[tuple[str, ...]] = frozenset()
    """Phrases that dismiss what the agent is doing, in a turn that asks for nothing. "Wait" is not one."""
    commands: frozenset[str] = frozenset()
    """Other words that take the floor wherever they stand."""
    command_phrases: frozenset[tuple[str, ...]] = frozenset()
    """Other phrases that take the floor. Their words alone do not, because recognisers may write them for a "hm"."""
    beside_commands: frozenset[str] = frozenset()
    """Words beside a command that ask for nothing: of politeness, of time, of address."""
    backchannels: frozenset[str] = frozenset()
    """Words that make up backchannels."""
    laughs: frozenset[str] = frozenset()
    """Syllables of which laughter is written: "ha", "he"."""
    whole_turns: frozenset[tuple[str, ...]] = frozenset()
    """Fixed expressions that are a turn by themselves: thanks, farewells, pleasantries, and remarks that close a matter.
    Expressions that also begin a longer turn are left out: greetings, "yes", "sorry"."""
    farewells: frozenset[tuple[str, ...]] = frozenset()
    """Phrases that say goodbye or thanks. They do not object to the end of a call."""
    repetitions: frozenset[tuple[str, ...]] = frozenset()
    """Phrases that ask the agent to say its last words again."""
    beside_repetitions: frozenset[str] = frozenset()
    """Words beside such a phrase that name nothing else: "that", "the question"."""
    restarts: frozenset[tuple[str, ...]] = frozenset()
    """Phrases that ask to start the whole matter over."""
    beside_restarts: frozenset[str] = frozenset()
    """Words beside such a phrase that name nothing else: "can we", "let's"."""
    introductions: frozenset[tuple[str, ...]] = frozenset()
    """Phrases behind which people say their name."""
    destroying: frozenset[str] = frozenset()
    """Verbs, as people name or describe a tool, for what cannot be undone."""
    openers: frozenset[str] = frozenset()
    """Words with which people begin a sentence; alone, such a word is the start of one."""
    unfinished: Mapping[WordClass, frozenset[str]] = field(default_factory=dict)
    """Closed classes of words that another word must follow; the first class that holds a word counts."""
    question_words: frozenset[str] = frozenset()
    """Words that ask for something else than yes or no."""
    proposals: frozenset[tuple[str, ...]] = frozenset()
    """Phrases with such a word, or its like, that propose something, so that an "okay" answers them."""
    numbers: Mapping[str, int] = field(default_factory=dict)
    """Words for 0 to 99, without those made of two, and for a hundred and a thousand."""
    repeats: Mapping[str, int] = field(default_factory=dict)
    """Words that repeat the digit after them."""
    spelling: frozenset[str] = frozenset()
    """Words that are said while something is spelled: "at", "dot", "double"."""
    email_signs: frozenset[str] = frozenset()
    """Names of the sign between the halves of an e-mail address."""
    dots: frozenset[str] = frozenset()
    """Names of a full stop in an address."""
    abbreviations: Abbreviations = field(default_factory=Abbreviations)
    sayings: Sayings = Sayings()
    prompts: Prompts = Prompts()
    phone: PhoneWords = field(default_factory=PhoneWords)
    transfer: TransferWords = field(default_factory=TransferWords)
    values: ValueWords = field(default_factory=ValueWords)

    @property
    def is_known(self) -> bool:
        """True if the words of this language are known; otherwise judges and voice decide."""
        return bool(self.code)


UNKNOWN = Language("", "")
"""Any other language."""
