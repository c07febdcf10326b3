"""The facts about a language that are needed to find a number or a time of day in it, and those of English. Data; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from voiceagent.turn_taking.languages.en import ONES, TENS

Half = Literal["", "AM", "PM"]
"""The half of the day; empty: it was not said."""


@dataclass(frozen=True, slots=True, eq=False)
class GroundingWords:
    """The words of one language, in small letters."""

    numbers: Mapping[str, int]
    """Words for 0 to 99, without those that are made of two."""
    tens: frozenset[str]
    """Words for tens, to which one from 1 to 9 is added."""
    multipliers: Mapping[str, int]
    """Hundred, thousand."""
    joiner: str
    """Words that may stand between a hundred and the rest."""
    ordinals: Mapping[str, int]
    ordinal_endings: tuple[str, ...]
    """Endings of an ordinal's digits."""
    amounts: Mapping[str, float]
    """Phrases that mean a number: "a dozen", and "half an hour" where minutes are asked for."""
    signs: Mapping[str, str]
    """Words of arithmetic, and the sign that each is written as."""
    halves: Mapping[str, Half]
    """Words right behind a time that say the half of the day."""
    parts_of_day: Mapping[str, Half]
    """Words anywhere in the sentence that say it."""
    full_hour: frozenset[str]
    """Words that may stand behind an hour: "o'clock"."""
    times: Mapping[str, tuple[int, int, Half]]
    """Words that are a time: "noon"."""
    past: Mapping[str, int]
    """Phrases before an hour, and the minutes that they add to it: "half past", "quarter to"."""
    time_names: frozenset[str]
    """Words in the name or the description of an argument that is a time of day."""
    minutes_past: Mapping[str, int]
    """Words between minutes and the hour, and their sign: "ten to nine"."""
    digits_by_sound: Mapping[str, int] = field(default_factory=dict)
    """Words that sound like a digit, as a recogniser may write it: "My number is for 8271"."""
    code_names: frozenset[str] = frozenset()
    """Words right before a value of digits, such as "number"."""
    copulas: frozenset[str] = frozenset()
    """Words that may stand between such a word and its value: "is"."""
    questions: frozenset[str] = frozenset()
    """Words with which a question begins."""
    ask_number: str = "{name}?"
    """Asks for an argument that is a number, `{name}` being its name."""
    ask_choice: str = "{name}: {choices}?"
    """Asks for an argument that is one of a few `{choices}`."""
    either: str = "/"
    """The word between the last two of them."""
    ask: str = "{name}?"
    """Asks for any other argument."""
    cannot: str = ""
    """Said if the model asks for a missing tool, or claims something that the agent cannot do."""
    not_understood: str = ""
    """Said in place of a text that is no sentence."""
    failed: str = ""
    """Said if a tool failed and the model claims something else."""
    written_time: Mapping[Half, str] = field(default_factory=lambda: {"": "{hour}", "AM": "{hour} AM", "PM": "{hour} PM"})
    """The form of a time for a tool; `{hour}` includes its minutes, if there are any."""


_FIRST = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth"
)
_QUESTIONS = "what when where who whose which why how do does did is are was were can could will would should have has may"
_TENTHS = "twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth"

ENGLISH = GroundingWords(
    numbers={
        **{word: value for value, word in enumerate(ONES.split())},
        **{word: 10 * value for value, word in enumerate(TENS.split(), 2)},
        "oh": 0,
        "nought": 0,
    },
    tens=frozenset(TENS.split()),
    multipliers={"hundred": 100, "thousand": 1000},
    joiner="and",
    ordinals={
        **{word: value for value, word in enumerate(_FIRST.split())},
        **{word: 10 * value for value, word in enumerate(_TENTHS.split(), 2)},
    },
    ordinal_endings=("st", "nd", "rd", "th"),
    amounts={
        "half a": 0.5,
        "a half": 0.5,
        "a single": 1,
        "a couple": 2,
        "both": 2,
        "twice": 2,
        "a pair": 2,
        "a dozen": 12,
        "a million": 1_000_000,
        "half a dozen": 6,
        "just me": 1,
        "by myself": 1,
        "a quarter of an hour": 15,
        "quarter of an hour": 15,
        "half an hour": 30,
        "half hour": 30,
        "an hour": 60,
        "three quarters of an hour": 45,
        "an hour and a half": 90,
        "one hour": 60,
        "two hours": 120,
        "a minute": 1,
        "a second": 1,
    },
    signs={
        "plus": "+",
        "add": "+",
        "added": "+",
        "and": "+",
        "sum": "+",
        "minus": "-",
        "less": "-",
        "subtract": "-",
        "take": "-",
        "times": "*",
        "multiplied": "*",
        "multiply": "*",
        "by": "*",
        "x": "*",
        "×": "*",
        "product": "*",
        "divided": "/",
        "divide": "/",
        "over": "/",
        "÷": "/",
    },
    halves={"am": "AM", "pm": "PM"},
    parts_of_day={"morning": "AM", "afternoon": "PM", "evening": "PM", "tonight": "PM", "night": "PM"},
    full_hour=frozenset({"o'clock", "oclock"}),
    times={"noon": (12, 0, "PM"), "midday": (12, 0, "PM"), "midnight": (12, 0, "AM")},
    past={"half past": 30, "quarter past": 15, "a quarter past": 15, "quarter to": -15, "a quarter to": -15, "half": 30},
    time_names=frozenset({"time", "hour", "clock", "o'clock"}),
    minutes_past={"past": 1, "after": 1, "to": -1, "before": -1},
    digits_by_sound={"for": 4, "fore": 4, "to": 2, "too": 2, "ate": 8, "won": 1},
    code_names=frozenset({"number", "code", "pin", "id", "reference", "zip", "postcode", "extension"}),
    copulas=frozenset({"is", "was", "it's"}),
    questions=frozenset(_QUESTIONS.split()),
    ask_number="How many {name}?",
    ask_choice="What {name}: {choices}?",
    either="or",
    ask="What {name}?",
    cannot="I'm sorry, I can't help with that.",
    not_understood="Sorry, I did not understand.",
    failed="Sorry, that did not work.",
)

LANGUAGES = {"en": ENGLISH}
"""The languages by ISO 639-1 code."""
