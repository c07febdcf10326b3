"""Measures the bundled language model on the fixed list `held_out/lm.jsonl`: requests whose slot values no training has seen
together, alone and in turn 2 to 4 of a dialogue. The embedded engine answers each as it does in a call, with the demo agent's
tools. The tool call is judged: it must be the right tool, with every argument exactly right. The check of a call's arguments
against what was said is measured too: it must let the right calls through.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec

from bench.harness import Figure, at_least, at_most
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.errors import EngineError
from voiceagent.grounding.language import ENGLISH
from voiceagent.grounding.said import Said
from voiceagent.grounding.said import check as check_arguments
from voiceagent.json_types import JsonObject
from voiceagent.llm.embedded.embedded import EmbeddedEngine
from voiceagent.llm.engine import ToolSchema
from voiceagent.models.registry import registry, resolve
from voiceagent.resources import demo_agent_file
from voiceagent.settings.agent import load_agent
from voiceagent.tools.toolset import ToolSet

MODEL = "micro-lm"
"""Its key in the registry."""


class RequestEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the list."""

    set: str
    """`single` or `dialogue`."""
    messages: tuple[JsonObject, ...]
    """In the OpenAI shape, up to the caller's last words; the arguments of tool calls are objects."""
    tool: str
    """The tool that is to be called then."""
    arguments: dict[str, str | int]


class Score(msgspec.Struct, frozen=True):
    """Per cent of the entries."""

    tool: float
    """Right tool."""
    exact: float
    """Right tool and every argument right, none too many."""
    refused: float = 0.0
    """Calls with every argument right that the check of arguments refuses or changes, in per cent."""
    caught: float = 0.0
    """Calls that are wrong in any way and that it refuses, in per cent."""


def held_out(name: str) -> list[RequestEntry]:
    """The entries of one set of the list."""
    lines = (Path(__file__).parent / "held_out" / "lm.jsonl").read_text("utf-8").splitlines()
    entries = (msgspec.json.decode(line, type=RequestEntry) for line in lines)
    return [entry for entry in entries if entry.set == name]


def demo_tools() -> list[ToolSchema]:
    """The tools of the demo agent, which the model was trained for."""
    agent = load_agent(demo_agent_file())
    return ToolSet.from_config(agent.tools, agent.base_dir).schemas()


def history(messages: Sequence[JsonObject]) -> list[Message]:
    """The list's messages as the engines take them."""
    taken: list[Message] = []
    for index, message in enumerate(messages):
        calls = tuple(
            ToolCall(f"call_{index}", call["function"]["name"], json.dumps(call["function"]["arguments"]))
            for call in message.get("tool_calls", ())
        )
        answered = f"call_{index - 1}" if message["role"] == "tool" else ""
        taken.append(Message(message["role"], message["content"], calls, answered))
    return taken


async def score(engine: EmbeddedEngine, entries: Sequence[RequestEntry]) -> Score:
    """Let the engine answer every entry."""
    tools = demo_tools()
    parameters = {tool["function"]["name"]: tool["function"]["parameters"] for tool in tools}
    means = registry().model(MODEL).limits.means
    right_tools = exact = wrong = refused = caught = 0
    for number, entry in enumerate(entries):
        session = engine.open(f"check-{number}")
        try:
            made = [piece async for piece in session.generate(history(entry.messages), tools)]
        except EngineError:
            # A call that cannot be read is a wrong answer like any other.
            made = []
        await session.close()
        calls = [piece for piece in made if isinstance(piece, ToolCall)]
        right = len(calls) == 1 and calls[0].name == entry.tool
        right_tools += right
        is_exact = right and json.loads(calls[0].arguments) == entry.arguments
        exact += is_exact
        if len(calls) == 1:
            said = Said(history(entry.messages), ENGLISH, means)
            found = check_arguments(json.loads(calls[0].arguments), parameters[calls[0].name], said, ENGLISH)
            wrong += not is_exact
            refused += is_exact and (bool(found.unsaid) or found.mended)
            caught += not is_exact and bool(found.unsaid)
    return Score(
        _percent(right_tools, len(entries)), _percent(exact, len(entries)), _percent(refused, exact), _percent(caught, wrong)
    )


def _percent(part: int, of: int) -> float:
    return round(100 * part / of, 1) if of else 0.0


async def check_lm() -> list[Figure]:
    """Measure the bundled language model: less than a minute. Raises ModelError."""
    engine = EmbeddedEngine(resolve(MODEL))
    try:
        single = await score(engine, held_out("single"))
        dialogue = await score(engine, held_out("dialogue"))
    finally:
        await engine.close()
    return [
        at_least("right tool, single requests", single.tool, 100, "%"),
        at_least("right tool and arguments, single requests", single.exact, 90, "%"),
        Figure("right tool, turn 2–4 of a dialogue", dialogue.tool, "%", "", True),
        at_least("right tool and arguments, turn 2–4 of a dialogue", dialogue.exact, 80, "%"),
        at_most("right calls refused as unsaid, single requests", single.refused, 1, "%"),
        at_most("right calls refused as unsaid, turn 2–4 of a dialogue", dialogue.refused, 1, "%"),
        Figure("wrong calls caught as unsaid, turn 2–4 of a dialogue", dialogue.caught, "%", "", True),
    ]
