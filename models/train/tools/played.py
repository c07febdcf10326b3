"""Conversations with the agents of scenarios/, with other values, other results and other tools beside: what is written by hand
once is learned from many times."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from models.train.tools.agents import demo_instructions
from models.train.tools.demo import DEMO_TOOLS
from models.train.tools.exchanged_facts import with_other_facts
from models.train.tools.families import Made
from models.train.tools.held_out import is_judged
from models.train.tools.requests import Request
from models.train.tools.results import outcome
from models.train.tools.scenarios import Call, OwnTool, Scenario, Turn, scenarios, with_other_values
from models.train.tools.talk import Message, said, user
from models.train.tools.yaml_data import cap, read

DEMO_SHARE = 0.3
GREETED_SHARE, CHAINED_SHARE = 0.35, 0.35
OTHER_TOOLS_SHARE, LESS_TOOLS_SHARE, OTHER_TOOLS = 0.3, 0.12, (1, 1, 1, 2, 3)
"""Of the agents those with tools of others besides, and those that lack one of their own: what that was for is a wish that no
tool fits. So many tools of others."""
OTHER_FILES_SHARE = 0.2
"""Of the values that are exchanged, those out of another agent's file."""
OTHER_NUMBERS_SHARE = 0.7
OTHER_FACTS_SHARE = 0.75
"""Of the agents those whose instructions state other facts than the file."""
FACTS_SHARE, UNTOLD_SHARE = 0.3, 0.05
"""Of the dialogues those that ask for a fact of the instructions, and for one that they do not tell: where every third asked for
what is not there, the model took to denying what is."""


@dataclass(frozen=True)
class PlayedAgent:
    """What stands in an agent's prompt."""

    instructions: str
    schemas: list[dict[str, Any]]


def played(rng: random.Random, conversations: int) -> tuple[PlayedAgent, list[list[Message]]]:
    """An agent and conversations with it."""
    demo = rng.random() < DEMO_SHARE
    one = rng.choice([one for one in scenarios() if bool(one.tools) is not demo])
    if not demo and rng.random() < OTHER_FACTS_SHARE:
        one = with_other_facts(one, rng)
    own = {tool.tool.name: tool for tool in one.tools}
    kept = dict(own)
    if own and rng.random() < LESS_TOOLS_SHARE and len(own) > 1:
        del kept[rng.choice(list(own))]
    shown = list(kept.values())
    if own and rng.random() < OTHER_TOOLS_SHARE:
        others = [tool for another in scenarios() if another is not one for tool in another.tools]
        others = rng.sample(others, rng.choice(OTHER_TOOLS))
        shown += {tool.tool.name: tool for tool in others if tool.tool.name not in own}.values()
        rng.shuffle(shown)
    schemas = [tool.schema for tool in shown] if own else [made.schema for made in DEMO_TOOLS]
    agent = PlayedAgent(one.instructions if own else demo_instructions(rng), schemas)
    found: list[list[Message]] = []
    while len(found) < conversations:
        messages = _conversation(one, kept, rng)
        if messages and not is_judged(message["content"] for message in messages if message["role"] == "user"):
            found.append(messages)
    return agent, found


def _conversation(one: Scenario, tools: Mapping[str, OwnTool], rng: random.Random) -> list[Message]:
    greeting = one.greeting or rng.choice(read("talk")["greetings"])
    messages = [said(greeting)] if rng.random() < GREETED_SHARE else []
    parts = [_dialogue(one, rng)]
    while rng.random() < CHAINED_SHARE and len(parts) < 3:
        parts.append(_dialogue(one, rng))
    enums = {key for tool in tools.values() or DEMO_TOOLS for key, shape in _shapes(tool).items() if "enum" in shape}
    enums |= set() if one.tools else {"expression"}
    for dialogue in parts:
        values = _values(one.name if rng.random() > OTHER_FILES_SHARE else "")
        for turn in with_other_values(dialogue, {key: values[key] for key in values if key not in enums}, rng):
            if any(call.name not in tools for call in turn.calls) and one.tools:
                return [*messages, user(turn.said), said(rng.choice(read("talk")["denials"]))] if len(dialogue) == 1 else []
            messages += [user(turn.said), *_answered(turn, tools, rng)]
    return messages


def _dialogue(one: Scenario, rng: random.Random) -> tuple[Turn, ...]:
    roll = rng.random()
    told = [dialogue for dialogue in one.dialogues if dialogue[0].is_fact and dialogue[0].answer]
    untold = [dialogue for dialogue in one.dialogues if dialogue[0].is_fact and not dialogue[0].answer]
    others = [dialogue for dialogue in one.dialogues if not dialogue[0].is_fact]
    return rng.choice((told if roll < FACTS_SHARE else untold if roll < FACTS_SHARE + UNTOLD_SHARE else others) or others)


def _answered(turn: Turn, tools: Mapping[str, OwnTool], rng: random.Random) -> list[Message]:
    if not turn.calls:
        return [said(turn.answer or rng.choice(read("talk")["unknown"]))]
    functions = [{"name": call.name, "arguments": dict(call.arguments)} for call in turn.calls]
    outcomes = [_outcome(tools[call.name], call, rng) if tools else _demo_outcome(call, turn.said, rng) for call in turn.calls]
    calls = [{"type": "function", "function": function} for function in functions]
    results = [{"role": "tool", "content": result} for result, _ in outcomes]
    return [{"role": "assistant", "content": "", "tool_calls": calls}, *results, said(" ".join(told for _, told in outcomes))]


def _outcome(tool: OwnTool, call: Call, rng: random.Random) -> tuple[str, str]:
    """The tool's JSON and what is said of it, with other numbers."""
    result = {key: _another(value, rng) for key, value in tool.result.items()}
    shown = {**call.arguments, **result}
    told = re.sub(r"{(\w+)}", lambda field: _said(shown.get(field[1], "")), tool.telling)
    return json.dumps(result, ensure_ascii=False), cap(told)


def _said(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value).replace("_", " ")


def _another(value: Any, rng: random.Random) -> Any:
    if isinstance(value, bool) or rng.random() > OTHER_NUMBERS_SHARE:
        return value
    if isinstance(value, int) and value > 1:
        return rng.randint(2, max(2 * value, 10))
    if isinstance(value, float):
        return round(rng.uniform(0.5, 2) * value, 2)
    return value


def _demo_outcome(call: Call, spoken: str, rng: random.Random) -> tuple[str, str]:
    made = next(made for made in DEMO_TOOLS if made.name == call.name)
    keys = {param.name: param.key for param in made.params}
    values = {keys[name]: (str(value), value) for name, value in call.arguments.items()}
    return outcome(made, Request(spoken, values, made), rng)


def _shapes(tool: OwnTool | Made) -> dict[str, dict[str, Any]]:
    """Schemas of its parameters."""
    found: dict[str, dict[str, Any]] = tool.schema["function"]["parameters"]["properties"]
    return found


@cache
def _values(name: str = "") -> dict[str, list[str]]:
    """By parameter the words that callers say for it, in one file or in all."""
    found: dict[str, set[str]] = {}
    for one in scenarios():
        enums = {(tool.tool.name, key) for tool in one.tools for key, schema in _shapes(tool).items() if "enum" in schema} | {
            ("change_booking", "kind"),
            ("cancel_booking", "kind"),
            ("calculate", "expression"),
        }
        for turn in (turn for dialogue in one.dialogues for turn in dialogue if name in ("", one.name)):
            for call in turn.calls:
                for key, value in call.arguments.items():
                    if isinstance(value, str) and value and not value.isdigit() and (call.name, key) not in enums:
                        found.setdefault(key, set()).add(value)
    return {key: sorted(some) for key, some in found.items()}
