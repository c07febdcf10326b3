"""Tools: a family times its objects gives them, each with names, parameters and a description drawn anew."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from models.train.tools.slots import SLOTS, Slot
from models.train.tools.values import named
from models.train.tools.yaml_data import read

EXTRAS = [
    "day",
    "time",
    "people",
    "count",
    "name",
    "code",
    "city",
    "minutes",
    "size",
    "color",
    "part",
    "payment",
    "urgent",
    "phone",
    "kilos",
    "km",
    "years",
    "weeks",
    "boxes",
    "email",
    "person",
    "severity",
    "mode",
    "meal",
    "language",
    "duration",
    "amount",
    "round",
    "gift",
    "shipping",
]
"""What a tool for a kind of things may want besides."""


@dataclass(frozen=True, eq=False)
class Family:
    """Tools that are asked for in the same words; see families.yaml."""

    names: tuple[str, ...]
    objects: tuple[tuple[str, str], ...]
    descriptions: tuple[str, ...]
    params: tuple[str, ...]
    cores: tuple[str, ...]
    questions: tuple[str, ...]
    sayings: tuple[str, ...]
    done: tuple[tuple[str, str], ...]
    """What is said of a result, and the result's fields: `name=kind`, joined by commas."""
    ability: str
    """Said when it is asked what it can do."""
    effect: bool
    """A call changes something; else it only looks something up."""
    group: str = ""
    """Of the tools for a kind of things: an agent has one of a group for a kind."""

    @property
    def books(self) -> bool:
        """A day and a time are booked."""
        return self.names[0].startswith("book_") and {"day", "time"} <= {param.rstrip("?") for param in self.params}

    @property
    def changes(self) -> bool:
        """The latest booking is changed, whatever it was."""
        return self.names[0] == "change_{o}" and all(param.endswith("?") for param in self.params)

    @classmethod
    def of(cls, one: Mapping[str, Any]) -> Family:
        """As a YAML file describes it."""
        halves = [text.partition(" <- ") for text in one["done"]]
        return cls(
            tuple(one["names"]),
            tuple(one.get("objects", {"": ""}).items()),
            tuple(one["descriptions"]),
            tuple(one["params"]),
            tuple(one["cores"]),
            tuple(one.get("questions", ())),
            tuple(one.get("sayings", ())),
            tuple((said, fields) for said, _, fields in halves),
            one["ability"],
            one.get("effect", True),
            one.get("group", ""),
        )

    @property
    def all_names(self) -> set[str]:
        """Of every tool that it can give."""
        return {_name(text, snake) for text in self.names for snake, _ in self.objects}


@dataclass(frozen=True)
class Param:
    """A parameter as a tool has it."""

    key: str
    """Of its slot."""
    name: str
    required: bool
    schema: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Made:
    """One tool as an agent has it."""

    family: Family
    object: str
    name: str
    description: str
    params: tuple[Param, ...]
    own_slots: dict[str, Slot] = field(default_factory=dict)
    about: str = ""
    """The kind of things that it is for."""

    def slot(self, key: str) -> Slot:
        """What a parameter is for."""
        return self.own_slots[key] if key in self.own_slots else SLOTS[key]

    @property
    def schema(self) -> dict[str, Any]:
        """As a chat template takes it."""
        properties = {param.name: param.schema for param in self.params}
        required = [param.name for param in self.params if param.required]
        parameters = {"type": "object", "properties": properties, "required": required}
        return {"type": "function", "function": {"name": self.name, "description": self.description, "parameters": parameters}}

    @property
    def ability(self) -> str:
        """What it can do, after "I can"."""
        return self.family.ability.replace("{o}", self.object)


FAMILIES = tuple(Family.of(one) for one in read("families"))


def tool(family: Family, rng: random.Random, own_slots: dict[str, Slot] | None = None) -> Made:
    """One of a family's tools."""
    slots = {**SLOTS, **(own_slots or {})}
    snake, said = rng.choice(family.objects)
    name = _name(rng.choice(family.names), snake)
    if rng.random() < 0.06:
        name = _camel(name)
    description = rng.choice(family.descriptions).replace("{o}", said).replace("  ", " ") if rng.random() < 0.93 else ""
    params: list[Param] = []
    for wanted in family.params:
        key, optional = wanted.rstrip("?"), wanted.endswith("?")
        names = [one for one in slots[key].names if all(one != other.name for other in params)]
        if not names or (optional and rng.random() < 0.45):
            continue
        chosen = names[0] if rng.random() < 0.45 else rng.choice(names)
        params.append(Param(key, chosen, not optional, _schema(key, slots[key], rng)))
    if rng.random() < 0.1:
        rng.shuffle(params)
    return Made(family, said, name, description, tuple(params), own_slots or {})


def _name(text: str, snake: str) -> str:
    return re.sub(r"_+", "_", text.replace("{o}", snake)).strip("_")


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def _schema(key: str, slot: Slot, rng: random.Random) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "integer" if key == "short" and rng.random() < 0.3 else slot.type}
    if slot.enum:
        schema["enum"] = list(slot.enum)
    if slot.descriptions and rng.random() < 0.25:
        schema["description"] = rng.choice(slot.descriptions)
    return schema


def kind(rng: random.Random) -> dict[str, Any]:
    """A kind of things."""
    drawn: dict[str, Any] = rng.choice(read("kinds")["kinds"])
    return drawn


def composed(rng: random.Random, first: Mapping[str, Any] | None = None) -> Made:
    """A tool for a kind of things, with further parameters of any sort: there are some hundred thousand."""
    pattern = rng.choice(read("kinds")["tools"])
    first = first or kind(rng)
    second = rng.choice([other for other in read("kinds")["kinds"] if other is not first])
    params = [] if pattern.get("bare") else ["x0"]
    if params and rng.random() < 0.15:
        params.append("x1" + rng.choice(["", "?"]))
    more = rng.choice([0, 0, 0, 1] if pattern.get("bare") else [0, 0, 1, 1, 1, 2, 2, 3])
    params += [extra + rng.choice(["", "?"]) for extra in rng.sample(EXTRAS, more)]
    shown = first["names"][0] if rng.random() < 0.5 else first["kind"]
    own = {"x0": _kind_slot(first, ("{}",)), "x1": _kind_slot(second, ("with {}", "for {}", "and {}", "by {}"))}
    made = tool(family_of_kind(pattern, first["kind"], shown, tuple(params)), rng, own)
    return replace(made, about=first["kind"])


def family_of_kind(pattern: Mapping[str, Any], kind: str, shown: str, params: tuple[str, ...]) -> Family:
    """The family of `kinds.yaml`'s tool for one kind, called `shown` in the tool's name."""
    spoken = ("cores", "questions", "sayings", "done")
    texts = {key: [text.replace("{x}", "{x0}").replace("{k}", kind) for text in pattern[key]] for key in spoken}
    names = [name.replace("{k}", shown) for name in pattern["names"]]
    descriptions = [text.replace("{k}", kind) for text in pattern["descriptions"]]
    ability = pattern["cores"][0].replace("{x}", kind).replace("{k}", kind)
    return Family.of({**pattern, **texts, "names": names, "descriptions": descriptions, "params": params, "ability": ability})


def _kind_slot(row: Mapping[str, Any], fragments: tuple[str, ...]) -> Slot:
    kind = row["kind"]
    asks = (f"Which {kind}?", f"What {kind} would you like?", f"Please tell me the {kind}.")
    told = (f"the {kind}", f"such as {row['values'][0]}")
    return Slot(named(row["values"], row.get("heads", [])), "string", tuple(row["names"]), fragments, asks, told)
