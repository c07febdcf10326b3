"""Facts that agents' instructions state, with what callers ask about them: sentences grow out of the rules of facts.yaml. In one
fact {name} stands for the same words wherever it is."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from models.train.tools.values import ONES, in_words
from models.train.tools.yaml_data import cap, read, words

MONEYS = (35, 45, 49, 59, 60, 75, 80, 99, 120, 150, 199, 250, 300, 450)


@dataclass(frozen=True)
class Fact:
    """One sentence of the instructions; the answer says the same."""

    statement: str
    questions: tuple[str, ...]
    answers: tuple[str, ...]
    about: str
    """What it is about: no two facts of an agent share it."""


def fact(rng: random.Random) -> Fact:
    """One of any kind."""
    kinds = read("facts")["kinds"]
    if rng.random() < read("facts")["share_of_free"]:
        return _free(rng)
    kind = rng.choices(kinds, [one["weight"] for one in kinds])[0]
    drawn: dict[str, str] = {}
    rules = kind.get("rules", {})

    def grown(text: str) -> str:
        return _grown(text, rules, drawn, rng)

    statement = drawn["statement"] = cap(grown(rng.choice(kind["statements"])))
    drawn["low"] = statement[0].lower() + statement[1:]
    answers = tuple(cap(grown(text)) for text in kind.get("answers", ["{statement}"]))
    return Fact(statement, tuple(grown(text) for text in kind["questions"]), answers, grown(kind["about"]))


def _free(rng: random.Random) -> Fact:
    """A fact as a business writes it, asked for in other words."""
    one = rng.choice(read("facts")["free"])
    drawn: dict[str, str] = {}
    statement = cap(_grown(one["statement"], {}, drawn, rng).replace("..", "."))
    questions = tuple(cap(_grown(text, {}, drawn, rng)).rstrip("?.") for text in one["questions"])
    return Fact(statement, questions, (cap(_grown(one["answer"], {}, drawn, rng).replace("..", ".")),), one["statement"])


def fact_of_kind(kind: Mapping[str, Any], groups: Collection[str], rng: random.Random) -> Fact:
    """One about a kind of things (kinds.yaml) for an agent whose tools for it are of these groups."""
    one = rng.choice([one for one in read("kinds")["facts"] if one.get("unless", "") not in groups])
    drawn = {"k": kind["kind"], "x": rng.choice(kind["values"])}
    about = f"{drawn['k'] if '{k}' in one['statement'] else drawn['x']}: {one['statement']}"
    statement = cap(_grown(one["statement"], {}, drawn, rng))
    questions = tuple(_grown(text, {}, drawn, rng) for text in one["questions"])
    answers = tuple(cap(_grown(text, {}, drawn, rng)) for text in one.get("answers", [statement]))
    return Fact(statement, questions, answers, about)


def facts(rng: random.Random, count: int) -> list[Fact]:
    """Several about different things."""
    found: dict[str, Fact] = {}
    while len(found) < count:
        one = fact(rng)
        found.setdefault(one.about, one)
    return list(found.values())


def _grown(text: str, rules: dict[str, list[str]], drawn: dict[str, str], rng: random.Random) -> str:
    """A text whose {names} are drawn by the rules, or by what `DRAWN` has for the name without its number:
    {clock2} is another {clock}."""

    def put(match: re.Match[str]) -> str:
        name = match[1]
        bare = name.rstrip("0123456789")
        while name not in drawn or (name != bare and drawn[name] == drawn.get(bare)):
            drawn[name] = _grown(rng.choice(rules[name]), rules, drawn, rng) if name in rules else DRAWN[bare](rng)
        return drawn[name]

    return re.sub(r"{(\w+)}", put, text)


def clock(rng: random.Random) -> str:
    """A time of day as businesses write it."""
    hour = rng.randint(1, 12)
    forms = f"{hour}|{hour} a.m.|{hour} p.m.|{hour}:30|{hour} o'clock|{hour}:30 p.m.|{hour}:15|noon|{hour}:00|{ONES[hour]}"
    return rng.choice(forms.split("|"))


def money(rng: random.Random) -> str:
    value = rng.choice([rng.randint(2, 30), rng.choice(MONEYS)])
    worded = in_words(value, rng)
    return rng.choice([f"{value} dollars", f"{value} euros", f"${value}", f"{value} pounds", f"{worded} dollars"])


def person(rng: random.Random) -> str:
    first, last = rng.choice(words("first")), rng.choice(words("last"))
    return rng.choice([f"{first} {last}", first, f"{rng.choice(['Mr.', 'Mrs.', 'Dr.', 'Ms.'])} {last}"])


def number(rng: random.Random) -> str:
    """Small ones mostly in words."""
    value = min(rng.sample(range(2, 60), 2))
    return rng.choice([str(value), in_words(value, rng)]) if value < len(ONES) else str(value)


def _from_words(name: str) -> Callable[[random.Random], str]:
    return lambda rng: rng.choice(words(name))


def _from_facts(name: str) -> Callable[[random.Random], str]:
    return lambda rng: rng.choice(read("facts")["words"][name])


DRAWN: dict[str, Callable[[random.Random], str]] = {
    **{name: _from_words(plural) for name, plural in read("facts")["from_words"].items()},
    **{name: _from_facts(name) for name in read("facts")["words"]},
    "clock": clock,
    "money": money,
    "person": person,
    "number": number,
    "day_of_month": lambda rng: str(rng.randint(1, 30)),
    "two_digits": lambda rng: str(rng.randint(10, 99)),
    "house": lambda rng: str(rng.randint(1, 200)),
    "telephone": lambda rng: f"{rng.randint(200, 999)}-{rng.randint(1000, 9999)}",
}
