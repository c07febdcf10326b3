"""Whole conversations with an agent, of one to four turns. Everything is drawn from the given random generator."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from models.train.tools.agents import Agent, agent
from models.train.tools.families import Made, Param
from models.train.tools.follow_ups import again, changer
from models.train.tools.held_out import is_judged
from models.train.tools.requests import Request, finish, request
from models.train.tools.results import outcome
from models.train.tools.talk import Message, fact_question, said, small_talk, unfit, unknown_fact, user
from models.train.tools.values import Drawn
from models.train.tools.yaml_data import read

MISSING_SHARE = 0.3
"""Of the requests, those in which something is missing that the agent asks back for."""
MORE_OF_THE_DEMO = 2
"""Conversations with the demo agent beyond those with another."""


def example(rng: random.Random, conversations: int) -> tuple[Agent, list[list[Message]]]:
    """An agent and conversations with it."""
    one = agent(rng)
    found: list[list[Message]] = []
    while len(found) < conversations + MORE_OF_THE_DEMO * one.is_demo:
        messages = conversation(one, rng)
        said_by_caller = [message["content"] for message in messages if message["role"] == "user"]
        if any(message["role"] == "assistant" for message in messages[1:]) and not is_judged(said_by_caller):
            found.append(messages)
    return one, found


def conversation(agent: Agent, rng: random.Random) -> list[Message]:
    """One; it may be empty."""
    messages = [said(rng.choice(read("talk")["greetings"]))] if rng.random() < 0.35 else []
    last: Request | None = None
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 4])):
        turn, last = _turn(agent, last, rng)
        messages += turn
    return messages


def _turn(agent: Agent, last: Request | None, rng: random.Random) -> tuple[list[Message], Request | None]:
    """A caller's turn with its answer, and the request that a next turn may change."""
    roll = rng.random()
    if last is not None and roll < (0.55 if changer(agent, last) else 0.35):
        follow_up = again(last, agent, rng)
        return ([user(follow_up.said), *_called([follow_up], rng)], follow_up) if follow_up else ([], last)
    if agent.tools and roll < 0.62:
        return _served(rng.choice(agent.tools), rng) or ([], last)
    if len(agent.tools) > 1 and roll < 0.66:
        return _two_at_once(agent.tools, rng), None
    if agent.facts and roll < 0.83:
        return fact_question(agent, rng), last
    if agent.facts and roll < 0.88:
        return unknown_fact(agent, rng), last
    return (unfit if roll < 0.94 else small_talk)(agent, rng), last


def _called(requests: Sequence[Request], rng: random.Random) -> list[Message]:
    """The calls, their results, and what is said of them."""
    functions = [{"name": one.made.name, "arguments": one.arguments} for one in requests]
    calls = [{"type": "function", "function": function} for function in functions]
    outcomes = [outcome(one.made, one, rng) for one in requests]
    results = [{"role": "tool", "content": result} for result, _ in outcomes]
    return [{"role": "assistant", "content": "", "tool_calls": calls}, *results, said(" ".join(told for _, told in outcomes))]


def _served(made: Made, rng: random.Random) -> tuple[list[Message], Request] | None:
    """A request to its answer, with questions back where something is missing."""
    missing = _missing(made, rng)
    likely = 0.2 if missing else 0.55
    chosen = {p.key for p in made.params if (p.required and p not in missing) or (not p.required and rng.random() < likely)}
    asked = request(made, rng, only=chosen)
    if asked is None and missing:
        missing, asked = [], request(made, rng)
    if asked is None:
        return None
    answers, values = _asked_back(made, missing, rng)
    asked = replace(asked, values={**asked.values, **values})
    return [user(asked.said), *answers, *_called([asked], rng)], asked


def _missing(made: Made, rng: random.Random) -> list[Param]:
    required = [param for param in made.params if param.required]
    if not required or rng.random() >= MISSING_SHARE:
        return []
    some = [param for param in required if rng.random() < 0.4] or [rng.choice(required)]
    return required if rng.random() < 0.2 else some


def _asked_back(made: Made, missing: Sequence[Param], rng: random.Random) -> tuple[list[Message], dict[str, Drawn]]:
    """Questions for what is missing, with the caller's answers: now and then two values in one."""
    left, messages, values = list(missing), list[Message](), dict[str, Drawn]()
    while left:
        param = left.pop(0)
        value = values[param.key] = made.slot(param.key).draw(rng)
        question, text = _question(made, param, rng), _answer(made, param, value, rng)
        if left and rng.random() < 0.25:
            more = left.pop(0)
            values[more.key] = made.slot(more.key).draw(rng)
            text = finish(text.rstrip(".?") + " " + made.slot(more.key).fragment(values[more.key][0], rng), rng)
        messages += [said(question), user(text)]
    return messages, values


def _question(made: Made, param: Param, rng: random.Random) -> str:
    asks = made.slot(param.key).asks
    return rng.choice(asks) if asks and rng.random() < 0.85 else f"Please tell me the {param.name.replace('_', ' ')}."


def _answer(made: Made, param: Param, value: Drawn, rng: random.Random) -> str:
    text = value[0] if rng.random() < 0.55 else made.slot(param.key).fragment(value[0], rng)
    if rng.random() < 0.3:
        text = rng.choice(read("talk")["answering"]).replace("{}", text)
    return finish(text, rng)


def _two_at_once(tools: Sequence[Made], rng: random.Random) -> list[Message]:
    """One sentence for two tools."""
    one, other = (request(made, rng) for made in rng.sample(tools, 2))
    if one is None or other is None:
        return []
    joined = one.said.rstrip(".?! ") + rng.choice(read("talk")["joining"])
    lower = not joined.rstrip().endswith("And") and not other.said.startswith("I")
    rest = other.said[0].lower() + other.said[1:] if lower else other.said
    return [user(joined + rest), *_called([one, other], rng)]
