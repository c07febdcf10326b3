"""The words of a language with which people dictate, spell and correct. Data; each file of `languages/` holds one language."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

Phrase = tuple[str, ...]
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+")


def folded(text: str) -> str:
    """The text without case, accents and apostrophes."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in parts if not unicodedata.combining(char) and char not in "'’")


def phrase(text: str) -> Phrase:
    """The words of a text, folded."""
    return tuple(folded(word) for word in _WORD.findall(text))


def phrases(text: str) -> frozenset[Phrase]:
    """Phrases separated by bars."""
    return frozenset(phrase(one) for one in text.split("|") if one.strip())


def words(text: str) -> frozenset[str]:
    """Words separated by blanks."""
    return frozenset(folded(word) for word in text.split())


def texts(text: str) -> Mapping[Phrase, str]:
    """`sign: phrase, phrase | sign: …` as the sign by the phrase."""
    found: dict[Phrase, str] = {}
    for entry in text.split("|"):
        meaning, _, said = " ".join(entry.split()).rpartition(": ")
        found |= {phrase(one): meaning for one in said.split(",")}
    return found


def counts(text: str) -> Mapping[Phrase, int]:
    """The same for whole numbers."""
    return {said: int(meaning) for said, meaning in texts(text).items()}


@dataclass(frozen=True, slots=True, eq=False)
class Dictation:
    """One language. All words are folded."""

    code: str
    region: str
    """The country that is meant if none is set."""
    variants: tuple[tuple[str, str], ...] = ()
    """Other forms of numbers: what of num2words' words may be said in another way, and that way."""
    numbers: Mapping[Phrase, int] = field(default_factory=dict)
    """Words for numbers besides those of num2words."""
    joiner: str = ""
    """The word between parts of a number."""
    scales: Mapping[Phrase, int] = field(default_factory=dict)
    """Thousand, million."""
    hundreds: Mapping[Phrase, int] = field(default_factory=dict)
    """The hundred, where years are said with it in one word."""
    like_digits: Mapping[Phrase, str] = field(default_factory=dict)
    """Words that a recogniser writes for a digit."""
    like_letters: Mapping[Phrase, str] = field(default_factory=dict)
    """Names of letters, and words that a recogniser writes for them."""
    alphabet: frozenset[str] = frozenset()
    """Words of spelling alphabets; each stands for its first letter."""
    as_in: frozenset[Phrase] = frozenset()
    """Between a letter and a word that begins with it."""
    ends: frozenset[Phrase] = frozenset()
    """Before the last characters: it ends in."""
    with_letter: frozenset[str] = frozenset()
    """Before the letters of a word that was just said: "Clarke, with an e"."""
    without_letter: frozenset[str] = frozenset()
    single_letter: frozenset[str] = frozenset()
    """Before a letter that does not stand twice."""
    at_domain: frozenset[str] = frozenset()
    """Words for "at" before a domain alone."""
    like_at: frozenset[str] = frozenset()
    """Words that a recogniser writes for "at" before a well-known domain."""
    number_words: frozenset[str] = frozenset()
    """Before the number of a house."""
    proposals: frozenset[Phrase] = frozenset()
    """Beginnings of questions that propose a day or a time."""
    week_from: frozenset[str] = frozenset()
    """Between a week and the weekday from which it counts."""
    signs: Mapping[Phrase, str] = field(default_factory=dict)
    """Names of signs in an address."""
    repeats: Mapping[Phrase, int] = field(default_factory=dict)
    """Words before a digit or letter that is to be repeated."""
    restart: frozenset[Phrase] = frozenset()
    """All that was said before is void."""
    repair: frozenset[Phrase] = frozenset()
    """The last part is said again."""
    no: frozenset[str] = frozenset()
    """Words of refusal at the beginning."""
    not_: frozenset[Phrase] = frozenset()
    """Before the wrong one of two."""
    but: frozenset[str] = frozenset()
    """Before the right one, behind the wrong one."""
    first: frozenset[str] = frozenset()
    last: frozenset[str] = frozenset()
    at_end: frozenset[Phrase] = frozenset()
    """Behind the last characters."""
    both: frozenset[str] = frozenset()
    """Two of them: "the last both"."""
    ordinals: Mapping[Phrase, int] = field(default_factory=dict)
    """Ordinals besides those of num2words."""
    ordinal_endings: tuple[str, ...] = ("",)
    """Endings that they take."""
    fillers: frozenset[str] = frozenset()
    """Words of hesitation."""
    polite: frozenset[str] = frozenset()
    """Words behind a value: please."""
    yes: frozenset[str] = frozenset()
    doubled: frozenset[str] = frozenset()
    """Before a letter that stands twice."""
    with_: frozenset[str] = frozenset()
    """Words around it: with, a."""
    beside: frozenset[str] = frozenset()
    """Words around a value that say nothing else."""
    months: tuple[str, ...] = ()
    """Each with its other forms, separated by slashes."""
    weekdays: tuple[str, ...] = ()
    """From Monday on, in the same way."""
    of: frozenset[str] = frozenset()
    """Words between day, month and year."""
    articles: frozenset[str] = frozenset()
    ordinal_suffixes: frozenset[str] = frozenset()
    """Behind an ordinal in digits: 3rd."""
    dotted: bool = False
    """True if an ordinal is written with a full stop."""
    next_behind: frozenset[Phrase] = frozenset()
    """Behind a weekday."""
    days: Mapping[Phrase, int] = field(default_factory=dict)
    """Days from today."""
    next: frozenset[Phrase] = frozenset()
    """Before or behind a weekday: the coming one; with `next_week`, the one of the week that follows."""
    after_next: frozenset[Phrase] = frozenset()
    next_week: frozenset[Phrase] = frozenset()
    units: Mapping[Phrase, int] = field(default_factory=dict)
    """Days in a day, a week."""
    months_unit: frozenset[str] = frozenset()
    within: frozenset[Phrase] = frozenset()
    """Before a number of days: "in"; or behind it."""
    clock: Mapping[Phrase, str] = field(default_factory=dict)
    """Words that are a time: noon."""
    halves: Mapping[Phrase, str] = field(default_factory=dict)
    """Parts of the day: `am`, `pm` or `night`."""
    before_hour: Mapping[Phrase, int] = field(default_factory=dict)
    """Minutes that a phrase before the hour adds: half past."""
    after_hour: Mapping[Phrase, int] = field(default_factory=dict)
    """Minutes that a phrase behind the hour adds."""
    minutes_from: Mapping[Phrase, int] = field(default_factory=dict)
    """Between minutes and the hour; the minutes are multiplied by it."""
    quarters: Mapping[Phrase, int] = field(default_factory=dict)
    """A quarter, in minutes."""
    minutes_after: Mapping[Phrase, int] = field(default_factory=dict)
    """Between the hour and minutes."""
    hour: frozenset[str] = frozenset()
    """Words for the full hour."""
    at_time: frozenset[str] = frozenset()
    """Words before an hour."""
    currencies: Mapping[Phrase, str] = field(default_factory=dict)
    """ISO 4217 by name; `cent` for the hundredth part."""
    half: frozenset[Phrase] = frozenset()
    """Behind an amount: and a half."""
    decimal: frozenset[str] = frozenset()
    """The words for the decimal sign."""
    introductions: frozenset[Phrase] = frozenset()
    """Before a name or an address."""
    names: frozenset[str] = frozenset()
    """Common given names and surnames."""
    particles: frozenset[str] = frozenset()
    """Small words within names."""
    small: frozenset[str] = frozenset()
    """Common words that no name consists of."""
    streets: tuple[str, ...] = ()
    """Words and endings of streets."""
    agree: frozenset[Phrase] = frozenset()
    """Phrases that agree, besides those of turn-taking."""
    refuse: frozenset[Phrase] = frozenset()
    """Phrases that refuse."""
    choose: frozenset[str] = frozenset()
    """Words besides an ordinal that name a choice: "one"."""
    dates: str = "{weekday}, {day} {month}"
    """A date as it is read back."""
    with_year: str = "{date} {year}"
    births: str = "{day} {month} {year}"
    clocks: str = "{hour}:{minute}"
    """A time as it is read back."""
    full_clocks: str = "{hour}:{minute}"
    """The same on the hour."""
    spoken: Mapping[str, str] = field(default_factory=dict)
    """Names of signs, as they are read back."""
    money: str = "{amount} {sign}"
    hints: Mapping[str, str] = field(default_factory=dict)
    """Answers of each kind."""

    def said_month(self, month: int) -> str:
        """The month's name, from 1 on."""
        return self.months[month - 1].partition("/")[0] if self.months else str(month)

    def said_weekday(self, weekday: int) -> str:
        """The weekday's name, from Monday, 0, on."""
        return self.weekdays[weekday].partition("/")[0] if self.weekdays else ""
