"""Tools that a client writes to cost the server, or the language model, much for little: small schemas that stand for huge ones,
many of them, patterns that take for ever, arguments that take long to check."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from typing import Any

import pytest

from tests.attacks.figures import hold, within
from tests.attacks.loop_time import LIMIT_MS, held_ms
from tests.llm.faulty_server import faulty_server
from voiceagent.conversation.history import Message
from voiceagent.errors import EngineError
from voiceagent.llm.embedded.embedded import EmbeddedEngine
from voiceagent.llm.engine import LlmEngine
from voiceagent.llm.servers.openai import OpenAiEngine, OpenAiOptions
from voiceagent.models.registry import resolve
from voiceagent.realtime.dialect import MAX_EVENT_CHARACTERS
from voiceagent.realtime.session import RealtimeSession
from voiceagent.tools.call_tools import MAX_CLIENT_BYTES, CallTools
from voiceagent.tools.toolset import ToolSet

Schema = dict[str, Any]


def referring(times: int, *, to: Schema) -> Schema:
    """A schema that refers to one part many times."""
    return {"type": "object", "$defs": {"e": to}, "properties": {f"p{i}": {"$ref": "#/$defs/e"} for i in range(times)}}


def growing(levels: int, wide: int) -> Schema:
    """Each level stands for several of the one below."""
    definitions: dict[str, Any] = {"d0": {"description": "y" * 2000}}
    for level in range(levels):
        definitions[f"d{level + 1}"] = {"anyOf": [{"$ref": f"#/$defs/d{level}"}] * wide}
    return {"type": "object", "$defs": definitions, "properties": {"x": {"$ref": f"#/$defs/d{levels}"}}}


BOMBS: dict[str, list[Schema]] = {
    "a long enum, referred to 80 times, in four tools": [referring(80, to={"enum": ["x" * 13_000]})] * 4,
    "a long description, referred to 100 times": [referring(100, to={"description": "x" * 10_000})],
    "a long constant, referred to 100 times": [referring(100, to={"const": {"x": ["y"] * 2000}})],
    "levels that grow": [growing(6, 6)] * 4,
    "what refers to itself": [{"properties": {"a": {"$ref": "#/properties/a"}}}] * 32,
    "what refers to all of itself, twice": [{"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}] * 2}}}] * 32,
    "a long way to refer": [{"properties": {"a": {"$ref": "#" + "/$defs" * 2500}}, "$defs": {}}] * 4,
    "wide ones": [{"properties": {f"{i:x}": {} for i in range(990)}}] * 6,
    "many fair ones, together too many": [referring(14, to={"description": "z" * 200})] * 32,
}


def update(schemas: list[Schema]) -> str:
    tools = [{"type": "function", "name": f"t{i}", "description": "d", "parameters": schema} for i, schema in enumerate(schemas)]
    text = json.dumps({"type": "session.update", "session": {"tools": tools}}, separators=(",", ":"))
    assert len(text) <= MAX_EVENT_CHARACTERS
    return text


def session(tools: CallTools) -> RealtimeSession:
    return RealtimeSession("call", agent="a", instructions="Be brief.", offer_tools=tools.offer)


async def take(text: str) -> list[dict[str, Any]]:
    return list(session(CallTools(ToolSet())).on_client(text, 0.0).replies)


@pytest.mark.parametrize("bomb", BOMBS)
async def test_a_bomb_is_refused_with_one_clear_line_before_it_has_grown(bomb: str) -> None:
    tools = CallTools(ToolSet())
    (updated, refused) = session(tools).on_client(update(BOMBS[bomb]), 0.0).replies
    assert (updated["type"], refused["error"]["code"]) == ("session.updated", "invalid_tools")
    assert refused["error"]["param"] == "session.tools"
    message = refused["error"]["message"]
    assert any(words in message for words in ("65536 bytes", "1000 parts", "nests deeper", "refers to"))
    assert "\n" not in message
    assert len(message) < 600
    assert tools.schemas() == []
    hold(within("schema bomb: event loop held", await held_ms(take, update(BOMBS[bomb])), LIMIT_MS, "ms"))


@pytest.mark.parametrize(
    "changes",
    [
        {"tools": [{"type": "function", "name": f"t{i}", "parameters": {"properties": {"a": {}}}} for i in range(32)]},
        {"instructions": "word " * 3000, "x": ["y"] * 9000},
        {"x": [[]] * 20_000},
        {"x": {f"{i:x}": {} for i in range(6000)}},
        {"x": json.loads("[" * 60 + "]" * 60)},
        {"x": json.loads("[" * 900 + "]" * 900)},
    ],
)
async def test_no_session_update_holds_the_loop(changes: dict[str, Any]) -> None:
    text = json.dumps({"type": "session.update", "session": changes}, separators=(",", ":"))
    hold(within("the dearest session.update: event loop held", await held_ms(take, text), LIMIT_MS, "ms"))


def largest() -> CallTools:
    """As much as a client may offer."""
    tools = CallTools(ToolSet())
    schema = {"type": "object", "properties": {f"p{i}": {"type": "string", "description": "w " * 30} for i in range(20)}}
    tools.offer([{"type": "function", "name": f"t{i}", "parameters": schema} for i in range(29)])
    assert MAX_CLIENT_BYTES * 0.8 < len(json.dumps(tools.schemas())) <= MAX_CLIENT_BYTES
    return tools


@pytest.fixture
async def models() -> AsyncIterator[list[LlmEngine]]:
    async with faulty_server() as server:
        server.owner = "vllm"
        over_http, embedded = OpenAiEngine(OpenAiOptions(base_url=server.url)), EmbeddedEngine(resolve("micro-lm"))
        yield [over_http, embedded]
        await over_http.close()
        await embedded.close()


async def ask(model: LlmEngine, call_id: str, instructions: str, tools: list[dict[str, Any]]) -> None:
    asked = (Message("system", instructions), Message("user", "Hello."))
    with suppress(EngineError):  # more than the bundled model's context takes
        async with aclosing(model.open(call_id).generate(asked, tools)) as stream:
            await anext(stream)


async def test_a_turn_with_the_most_that_a_client_may_write_does_not_hold_the_loop(models: list[LlmEngine]) -> None:
    schemas, instructions = largest().schemas(), "Be a brief one. " * 1000
    for model in models:
        numbers = iter(range(100))
        await ask(model, "warm", "Be brief.", [])
        held = await held_ms(lambda: ask(model, f"call {next(numbers)}", instructions, schemas))  # noqa: B023
        hold(within("a turn with as many tools as a client may offer: event loop held", held, LIMIT_MS, "ms"))


CATASTROPHE = {
    "type": "object",
    "properties": {"code": {"type": "string", "pattern": "^(a+)+$"}},
    "patternProperties": {"(a+)+$": {}},
}


async def test_a_clients_pattern_is_never_run() -> None:
    tools = CallTools(ToolSet())
    tools.offer([{"type": "function", "name": "t", "parameters": CATASTROPHE}])
    assert "pattern" not in json.dumps(tools.schemas())
    asked = asyncio.create_task(tools.run("c1", "t", json.dumps({"code": "a" * 20_000 + "!"}), 5))
    async with asyncio.timeout(5):
        while not tools.answer("c1", "{}"):  # noqa: ASYNC110 - only the loop has to go round
            await asyncio.sleep(0)
        assert (await asked).ok


DEAR: dict[str, tuple[Schema, Any]] = {
    "each item by many choices": ({"items": {"anyOf": [{"type": "object"}] * 60}}, [0] * 10_000),
    "each with each": ({"uniqueItems": True}, [{"a": i} for i in range(2000)]),
    "many that are required": ({"items": {"required": [str(i) for i in range(1500)]}}, [{}] * 1000),
    "a long enum": ({"items": {"enum": [str(i) for i in range(2000)]}}, ["zz"] * 1000),
    "a long text by many choices": ({"anyOf": [{"type": "object"}] * 200}, "a" * 20_000),
    "choices of choices": ({"anyOf": [{"oneOf": [{"allOf": [{"type": "object"}] * 5}] * 5}] * 5}, [[1]] * 3000),
}


@pytest.mark.parametrize("dear", DEAR)
async def test_arguments_that_take_long_to_check_do_not_hold_the_loop(dear: str) -> None:
    schema, value = DEAR[dear]
    tools = CallTools(ToolSet())
    tools.offer([{"type": "function", "name": "t", "parameters": {"type": "object", "properties": {"x": schema}}}])
    arguments = json.dumps({"x": value}, separators=(",", ":"))

    async def run() -> None:
        outcome = await tools.run("c1", "t", arguments, 5)
        assert "Wrong arguments" in outcome.output or "too much to check" in outcome.output

    async with asyncio.timeout(10):
        hold(within("arguments that are dear to check: event loop held", await held_ms(run), LIMIT_MS, "ms"))
