"""An agent: its instructions with facts in them, and its tools."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from models.train.tools.demo import demo_tools
from models.train.tools.facts import Fact, facts
from models.train.tools.families import FAMILIES, Made, composed, tool
from models.train.tools.yaml_data import cap, read, words

BUSINESS_SHARE, DEMO_SHARE, COMPOSED_SHARE = 0.75, 0.16, 0.4
"""Agents of a business, agents with the demo's tools; of the others' tools, those for a kind of things."""


@dataclass(frozen=True)
class Agent:
    """One."""

    instructions: str
    facts: tuple[Fact, ...]
    tools: tuple[Made, ...]
    is_demo: bool = False

    @property
    def schemas(self) -> list[dict[str, Any]]:
        """Of its tools, as a chat template takes them."""
        return [made.schema for made in self.tools]


def agent(rng: random.Random) -> Agent:
    """Any."""
    if rng.random() < DEMO_SHARE:
        return _demo_agent(rng)
    business = rng.random() < BUSINESS_SHARE
    told = facts(rng, rng.choice([0, 0, 2, 3, 4, 5, 6, 7] if business else [0, 0, 0, 0, 3]))
    statements = " ".join(one.statement for one in told)
    intro = _intro(rng) if business else rng.choice(read("facts")["general"])
    style = rng.choice(read("facts")["styles"])
    parts = [intro, statements, style] if rng.random() < 0.5 else [intro, style, statements]
    if rng.random() < 0.15:
        parts = [statements, intro, style]
    return Agent(" ".join(part for part in parts if part), tuple(told), _tools(rng, bool(told)))


def _intro(rng: random.Random) -> str:
    kind = rng.choice(["Lion", "River", "Door", "Tree", "Star", "Corner", "Bridge"])
    names = [rng.choice(words("first")), f"{rng.choice(words('last'))}'s", f"{cap(rng.choice(words('adjectives')))} {kind}"]
    return str(rng.choice(read("facts")["intros"])).format(b=rng.choice(read("facts")["businesses"]), n=rng.choice(names))


def _tools(rng: random.Random, with_facts: bool) -> tuple[Made, ...]:
    many = rng.choice([0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 8] if with_facts else [1, 1, 2, 2, 3, 3, 4, 5, 6, 8])
    found: list[Made] = []
    while len(found) < many:
        one = composed(rng) if rng.random() < COMPOSED_SHARE else tool(rng.choice(FAMILIES), rng)
        another = all(one.family is not other.family for other in found) or rng.random() < 0.2
        if another and all(one.name != other.name for other in found):
            found.append(one)
    return tuple(found)


def _demo_agent(rng: random.Random) -> Agent:
    told = "You are a friendly voice assistant. Answer in one short sentence."
    if rng.random() >= 0.7:
        told = f"{rng.choice(read('facts')['general'])} {rng.choice(read('facts')['styles'])}".strip()
    return Agent(told, (), demo_tools(rng), is_demo=True)
