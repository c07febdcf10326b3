"""Decides whether the caller's words ask for anything, and whether they agree to exactly what was asked. Words that only order
the agent to stop or to wait, or only show that the caller listens, ask for nothing. "Stop the music" and "stop at nine" do.
Pure."""

from __future__ import annotations

import re
from typing import Literal

from voiceagent.turn_taking.language import Language, WordClass, bare_words, has_phrase, without_phrases
from voiceagent.turn_taking.overlap import Overlap

Kind = Literal["", "halt", "reaction"]
"""A request, a command to be silent or to wait, or another command or a backchannel."""

_SENTENCES = re.compile(r"(?<=[.!?…。？！।؟۔])\s+")
_PARTS = re.compile(r"[,;:.!?…。？！।؟۔]")
_SKIPPED: tuple[WordClass, ...] = ("filler", "preposition", "joiner")
"""Classes of words that may stand before the question word: "and for how many"."""
ADDRESS_WORDS = 2
"""Most words before a comma that greet or address somebody, and ask nothing: "good morning, how can I help"."""


def asks_nothing(turn: Overlap, last: str, language: Language) -> bool:
    """True if the caller's turn, `turn.words`, asks for nothing; `turn` also holds what the agent said before. `last` is its last
    utterance. A turn that ends with a command to stop asks for nothing any more, whatever it asked before. "Okay" and "no" answer
    a question that they can answer. A command to stop answers none."""
    sentences = _SENTENCES.split(turn.words.strip())
    endings = (last, *(" ".join(sentences[start:]) for start in range(len(sentences))))
    if any(_kind(bare_words(ending), language) == "halt" for ending in endings):
        return True
    return _kind(bare_words(turn.words), language) == "reaction" and not _may_be_agreed_to(turn, language)


def only_halts(said: str, language: Language) -> bool:
    """True for words that only order the agent to stop, to wait or to let a matter be. A "no" counts beside such an order where
    punctuation parts both, because it may mean "don't stop" otherwise."""
    nothing = language.beside_commands | language.backchannels | language.unfinished.get("filler", frozenset())
    refusals = {word for word in language.no & language.commands if (word,) not in language.dismissals}
    parts = [words for part in _PARTS.split(said) if not refusals.issuperset(words := bare_words(part))]
    left, halts = without_phrases([word for words in parts for word in words], language.halts)
    asks_again = has_phrase(bare_words(said), language.repetitions | language.restarts)
    return halts > 0 and nothing.issuperset(left) and not asks_again


def _kind(words: list[str], language: Language) -> Kind:
    left, halts = without_phrases(words, language.halts)
    left, phrases = without_phrases(left, language.command_phrases)
    commands = halts + phrases + sum(word in language.commands for word in left)
    nothing = language.backchannels | language.commands | language.unfinished.get("filler", frozenset())
    if commands:
        nothing |= language.beside_commands
    if commands > halts:  # "cancel it" is about something
        nothing -= language.openers - language.beside_commands
    if not nothing.issuperset(left):
        return ""
    if halts:
        return "halt"
    return "reaction" if commands or not language.backchannels.isdisjoint(left) else ""


def _may_be_agreed_to(turn: Overlap, language: Language) -> bool:
    """True if the agent's last sentence is a question that a yes or a no can answer."""
    if not turn.asked:
        return False
    words = _question(_SENTENCES.split(f"{turn.heard} {turn.unheard}".strip())[-1])
    if has_phrase(words, language.proposals):
        return True
    for word in words:
        if word in language.question_words:
            return False
        if word not in language.backchannels and not any(word in language.unfinished.get(kind, ()) for kind in _SKIPPED):
            return True
    return True


def _question(sentence: str) -> list[str]:
    """The words of the sentence from the beginning of its question on."""
    parts = [bare_words(part) for part in sentence.split(",")]
    start = next((at for at, words in enumerate(parts) if len(words) > ADDRESS_WORDS), len(parts) - 1)
    return [word for words in parts[start:] for word in words]


def is_farewell(said: str, language: Language) -> bool:
    """True for words that only say goodbye or thanks."""
    left, farewells = without_phrases(bare_words(said), language.farewells)
    beside = language.backchannels | language.unfinished.get("filler", frozenset())
    return farewells > 0 and beside.issuperset(left)


MAX_ASKING_WORDS = 9
"""A longer turn says more than that it wants to hear something again, or to start over."""


def asks_to_repeat(said: str, language: Language) -> bool:
    """True for words that only ask the agent to say its last words again."""
    return _only_asks(said, language, language.repetitions, language.beside_repetitions)


def asks_to_start_over(said: str, language: Language) -> bool:
    """True for words that only ask to start the whole matter over."""
    return _only_asks(said, language, language.restarts, language.beside_restarts)


def _only_asks(said: str, language: Language, asking: frozenset[tuple[str, ...]], beside: frozenset[str]) -> bool:
    words = bare_words(said)
    left, phrases = without_phrases(words, asking)
    beside |= language.beside_commands | language.backchannels | language.commands
    beside |= language.unfinished.get("filler", frozenset())
    return phrases > 0 and len(words) <= MAX_ASKING_WORDS and (beside - language.destroying).issuperset(left)


MAX_YES_WORDS = 8
"""A longer answer says more than yes."""


def agrees(said: str, language: Language) -> bool:
    """True for a plain yes: nothing but words and phrases of agreement, so not for "yes, but for five"."""
    words = bare_words(said)
    if not words or len(words) > MAX_YES_WORDS:
        return False
    left, phrases = without_phrases(words, language.yes_phrases)
    plain = all(word in language.yes or word in language.beside_yes for word in left)
    return plain and (phrases > 0 or not language.yes.isdisjoint(left))
