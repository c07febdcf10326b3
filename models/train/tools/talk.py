"""Turns in which no tool is called: facts that are there or not, requests that no tool fits, small talk."""

from __future__ import annotations

import random
from typing import Any

from models.train.tools.agents import Agent
from models.train.tools.facts import Fact, fact, fact_of_kind
from models.train.tools.families import FAMILIES, Made, composed, tool
from models.train.tools.requests import finish, request
from models.train.tools.yaml_data import read

Message = dict[str, Any]
SMALL_TALK = {"hello": 0.2, "thanks": 0.2, "bye": 0.15, "who": 0.08, "can": 0.11, "half": 0.13, "chat": 0.13}
"""Kinds of it, and their shares."""
NO_LAST_WORDS = {
    "a",
    "an",
    "the",
    "to",
    "for",
    "my",
    "and",
    "of",
    "with",
    "is",
    "at",
    "on",
    "by",
    "i",
    "i'd",
    "can",
    "could",
    "what",
    "if",
}
TRIES = 10
"""To find something that the agent does not have."""


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def said(text: str) -> Message:
    return {"role": "assistant", "content": text}


def fact_question(agent: Agent, rng: random.Random) -> list[Message]:
    """About one of its facts."""
    one = rng.choice(agent.facts)
    question = rng.choice(one.questions)
    text = question if rng.random() < 0.75 else rng.choice(read("talk")["wondering"]).replace("{}", question)
    return [user(finish(text, rng, not question.startswith("I "))), said(rng.choice(one.answers))]


def unknown_fact(agent: Agent, rng: random.Random) -> list[Message]:
    """About something that its instructions do not say; nothing where none is found."""
    for _ in range(TRIES):
        of = rng.choice(agent.kinds) if agent.kinds and rng.random() < 0.6 else None
        one = fact(rng) if of is None else fact_of_kind(of, agent.groups(of), rng)
        told = any(one.about == other.about for other in agent.facts) if of is not None else _is_told(one, agent)
        if not told:
            return [user(finish(rng.choice(one.questions), rng, True)), said(rng.choice(read("talk")["unknown"]))]
    return []


def _is_told(one: Fact, agent: Agent) -> bool:
    about = {other.about for other in agent.facts}
    about |= {word for text in about for word in text.split()} - {"a", "the", "an"}
    low = agent.instructions.lower()
    shared = any(word in about for word in one.about.split())
    return one.about in about or shared or any(word in low for word in one.about.lower().split() if len(word) > 3)


def unfit(agent: Agent, rng: random.Random) -> list[Message]:
    """A request that no tool fits; nothing where none is found."""
    for _ in range(TRIES):
        other = tool(rng.choice(FAMILIES), rng) if rng.random() < 0.7 else composed(rng)
        asked = None if any(_alike(other, made) for made in agent.tools) else request(other, rng)
        if asked is not None:
            answer = rng.choice(read("talk")["denials"])
            if agent.tools and rng.random() < 0.3:
                answer += " " + _abilities(agent, rng)
            return [user(asked.said), said(answer)]
    return []


def _alike(one: Made, other: Made) -> bool:
    same_words = one.ability.split()[-1] == other.ability.split()[-1] or set(one.name.split("_")) & set(other.name.split("_"))
    return one.family is other.family or bool(same_words)


def _abilities(agent: Agent, rng: random.Random) -> str:
    abilities = [made.ability for made in agent.tools[:4]]
    if not abilities:
        return str(rng.choice(read("talk")["without_tools"]))
    return "I can " + (abilities[0] if len(abilities) == 1 else ", ".join(abilities[:-1]) + " and " + abilities[-1]) + "."


def small_talk(agent: Agent, rng: random.Random) -> list[Message]:
    """Greetings, thanks, goodbyes, half sentences, and what it can do."""
    talk = read("talk")
    kind = rng.choices(list(SMALL_TALK), list(SMALL_TALK.values()))[0]
    if kind == "can":
        question = rng.choice(talk["can"])
        helps = question in ("Can you help me?", "I need some help.")
        answer = "Of course. How can I help you?" if helps else _abilities(agent, rng)
    elif kind == "half":
        question, answer = _half(agent, rng), rng.choice(talk["half_answers"])
    else:
        question, answer = rng.choice(talk[kind])
    return [user(question if rng.random() < 0.9 else question.rstrip(".?")), said(answer)]


def _half(agent: Agent, rng: random.Random) -> str:
    """A sentence that is not ended: one of the usual ones, or the beginning of a request up to a word that cannot end it."""
    asked = request(rng.choice(agent.tools), rng) if agent.tools and rng.random() < 0.6 else None
    said_words = asked.said.split() if asked else []
    ends = [at for at, word in enumerate(said_words[:-1], 1) if at > 1 and word.lower() in NO_LAST_WORDS]
    return " ".join(said_words[: rng.choice(ends)]) if ends else str(rng.choice(read("talk")["half"]))
