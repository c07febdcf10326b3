"""What must be known of a language to tell whether a number or a time of day was said in it. Data; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Half = Literal["", "AM", "PM"]
"""Of the day; empty: which one was not said."""


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """The words of one language, in small letters."""

    numbers: Mapping[str, int]
    """Words for 0 to 99, without those that are made of two."""
    tens: frozenset[str]
    """Those of them after which one from 1 to 9 is added."""
    multipliers: Mapping[str, int]
    """Hundred, thousand."""
    joiner: str
    """What may stand between a hundred and the rest."""
    ordinals: Mapping[str, int]
    ordinal_endings: tuple[str, ...]
    """What stands after an ordinal's digits."""
    amounts: Mapping[str, int]
    """Phrases that mean a number: "a dozen", and "half an hour" where minutes are asked for."""
    signs: Mapping[str, str]
    """Words of arithmetic, and the sign that each is written as."""
    halves: Mapping[str, Half]
    """What says the half of the day right behind a time."""
    parts_of_day: Mapping[str, Half]
    """Words that say it anywhere in the sentence."""
    full_hour: frozenset[str]
    """What may stand behind an hour: "o'clock"."""
    times: Mapping[str, tuple[int, int, Half]]
    """Words that are a time: "noon"."""
    past: Mapping[str, int]
    """Phrases before an hour, and the minutes that they add to it: "half past", "quarter to"."""
    minutes_past: Mapping[str, int]
    """Words between minutes and the hour, and their sign: "ten to nine"."""
    ask_number: str = "{name}?"
    """Asks for an argument that is a number, `{name}` being its name."""
    ask: str = "{name}?"
    """Asks for any other argument."""
    cannot: str = ""
    """Said where the model asks for a tool that is not there, or boasts of what the agent cannot do."""
    not_understood: str = ""
    """Said instead of what is no sentence."""
    failed: str = ""
    """Said where a tool failed and the model says something else of it."""
    written_time: Mapping[Half, str] = field(default_factory=lambda: {"": "{hour}", "AM": "{hour} AM", "PM": "{hour} PM"})
    """How a time is written to a tool; `{hour}` has its minutes with it, where there are any."""
