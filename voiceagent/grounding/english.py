"""English: see `GroundingWords`."""

from __future__ import annotations

from voiceagent.grounding.language import GroundingWords
from voiceagent.turn_taking.languages.en import ONES, TENS

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
