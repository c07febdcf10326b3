"""An agent: its instructions with facts in them, and its tools."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from models.train.tools.demo import demo_tools
from models.train.tools.facts import Fact, fact_of_kind, facts
from models.train.tools.families import FAMILIES, Made, composed, kind, tool
from models.train.tools.yaml_data import cap, read, words

BUSINESS_SHARE, DEMO_SHARE, COMPOSED_SHARE = 0.75, 0.25, 0.4
"""Agents of a business, agents with the demo's tools; of the others' tools, those for a kind of things."""
CHANGING_SHARE = 0.5
"""Of the agents that book something, those that have a tool to change the booking besides."""
TRADE_SHARE = 0.45
"""Of the agents of a business, those whose tools and facts are about the same one or two kinds of things: one word does not tell
there which of them is meant."""


@dataclass(frozen=True)
class Agent:
    """One."""

    instructions: str
    facts: tuple[Fact, ...]
    tools: tuple[Made, ...]
    is_demo: bool = False
    kinds: tuple[dict[str, Any], ...] = ()
    """Of things, that its trade is about."""

    def groups(self, kind: dict[str, Any]) -> set[str]:
        """Of its tools for a kind."""
        return {made.family.group for made in self.tools if made.about == kind["kind"]}

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
    intro = _intro(rng) if business else rng.choice(read("facts")["general"])
    if business and rng.random() < TRADE_SHARE:
        return _trade(intro, told[:3], rng)
    return Agent(_instructions(intro, told, rng), tuple(told), _tools(rng, bool(told)))


def _instructions(intro: str, told: Sequence[Fact], rng: random.Random) -> str:
    statements = " ".join(one.statement for one in told)
    style = rng.choice(read("facts")["styles"])
    parts = [intro, statements, style] if rng.random() < 0.5 else [intro, style, statements]
    if rng.random() < 0.15:
        parts = [statements, intro, style]
    return " ".join(part for part in parts if part)


def _trade(intro: str, told: Sequence[Fact], rng: random.Random) -> Agent:
    """An agent with several tools for one or two kinds of things, and facts about the same."""
    kinds = tuple({(one := kind(rng))["kind"]: one for _ in range(rng.choice([1, 2, 2]))}.values())
    tools: list[Made] = []
    many = rng.choice([1, 2, 2, 3, 3, 4, 5])
    for _ in range(5 * many):
        made = composed(rng, rng.choice(kinds))
        taken = any(other.about == made.about and other.family.group == made.family.group for other in tools)
        if len(tools) < many and not taken and all(other.name != made.name for other in tools):
            tools.append(made)
    without = Agent("", (), tuple(tools), kinds=kinds)
    about = {fact.about: fact for fact in told}
    for _ in range(rng.choice([0, 1, 2, 2, 3, 4])):
        of = rng.choice(kinds)
        fact = fact_of_kind(of, without.groups(of), rng)
        about.setdefault(fact.about, fact)
    known = rng.sample(list(about.values()), len(about))
    return replace(without, instructions=_instructions(intro, known, rng), facts=tuple(known))


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
    booking = any(one.family.books for one in found)
    if booking and rng.random() < CHANGING_SHARE and all(not one.family.changes for one in found):
        changing = tool(next(family for family in FAMILIES if family.changes), rng)
        found += [changing] if changing.params and all(one.name != changing.name for one in found) else []
    return tuple(found)


def demo_instructions(rng: random.Random) -> str:
    """The demo agent's, or others."""
    if rng.random() < 0.7:
        return "You are a friendly voice assistant. Answer in one short sentence."
    return f"{rng.choice(read('facts')['general'])} {rng.choice(read('facts')['styles'])}".strip()


def _demo_agent(rng: random.Random) -> Agent:
    return Agent(demo_instructions(rng), (), demo_tools(rng), is_demo=True)
