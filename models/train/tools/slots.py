"""What a parameter of a tool is for: how its values are drawn and said, what it may be called, and how it is asked for."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from models.train.tools.values import DRAWS, Draw, choice, measure, one_of, switch
from models.train.tools.yaml_data import read, words


@dataclass(frozen=True, slots=True)
class Slot:
    """One kind of parameter."""

    draw: Draw
    type: str
    names: tuple[str, ...]
    fragments: tuple[str, ...] = ("{}",)
    asks: tuple[str, ...] = ()
    descriptions: tuple[str, ...] = ()
    enum: tuple[str, ...] = ()

    def fragment(self, spoken: str, rng: random.Random) -> str:
        """A value with what leads it into a sentence."""
        text = rng.choice(self.fragments)
        return _with_on(spoken, rng) if text == "{on}" else text.replace("{}", spoken)


def _with_on(day: str, rng: random.Random) -> str:
    a_date = day.startswith("the ") and day[4].isdigit()
    if day.split()[0] in ("today", "tomorrow", "tonight", "next", "this", "the") and not a_date:
        return day
    return rng.choice([f"on {day}", f"on {day}", f"for {day}", day if day in words("weekdays") else f"on {day}"])


def slots_of(described: Mapping[str, Any]) -> dict[str, Slot]:
    """Slots as a YAML file describes them; see slots.yaml."""
    return {key: _slot(one) for key, one in described.items()}


def _slot(one: Mapping[str, Any]) -> Slot:
    texts = {key: tuple(one[key]) for key in ("names", "fragments", "asks", "descriptions") if key in one}
    return Slot(_draw(one), "boolean" if "yes" in one else one.get("type", "string"), enum=tuple(one.get("choices", ())), **texts)


def _draw(one: Mapping[str, Any]) -> Draw:
    if "draw" in one:
        return DRAWS[one["draw"]]
    if "words" in one:
        return one_of(words(one["words"]))
    if "choices" in one:
        return choice(one["choices"])
    if "yes" in one:
        return switch(one["yes"], one.get("no", []))
    unit, low, high = one["measure"]
    return measure(unit, low, high, whole=one["type"] == "integer")


SLOTS = slots_of(read("slots"))
