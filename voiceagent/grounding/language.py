"""The facts about a language that are needed to find a number or a time of day in it. Data; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

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
