"""The embedded engine on a real language model, the starter's: where its prompts and answers end, long answers and interrupted
ones, a conversation beyond its context, and calls that fit their tools whatever the schema."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import pytest_asyncio

from tests.llm.sessions import cache_of, end, session_of
from tests.real.models import published
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.llm.embedded.embedded import EmbeddedEngine
from voiceagent.llm.embedded.jobs import KvCache
from voiceagent.llm.embedded.worker import EmbeddedOptions
from voiceagent.llm.engine import GeneratedText, Lull, TokenCount, ToolSchema

pytestmark = pytest.mark.asyncio(loop_scope="module")
MODEL = "smollm2-135m-tools"
SYSTEM = Message(
    "system", "You are the front desk of the Hotel Aurora. Breakfast is from seven to ten. Answer in one or two short sentences."
)
BREAKFAST = Message("user", "When is breakfast?")
STORY = Message("user", "Please tell me a long story about a lighthouse and a storm.")
LONG_TOKENS = 80
LONGEST_CALL_TOKENS = 300


@pytest.fixture(scope="module")
def folder() -> Path:
    return published(MODEL)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine(folder: Path) -> AsyncIterator[EmbeddedEngine]:
    loaded = EmbeddedEngine(folder)
    yield loaded
    await loaded.close()


async def answer(engine: EmbeddedEngine, call_id: str, *messages: Message, pieces: int | None = None) -> str:
    """An answer's text, to its end or closed after so many pieces."""
    said: list[str] = []
    async with aclosing(session_of(engine, call_id).generate(messages, [])) as stream:
        async for piece in stream:
            if isinstance(piece, Lull):  # the machine is busy
                continue
            if isinstance(piece, TokenCount):
                break
            assert isinstance(piece, GeneratedText)
            said.append(piece.text)
            if len(said) == pieces:
                break
    return "".join(said)


def written(engine: EmbeddedEngine, call_id: str, *messages: Message) -> list[int]:
    """The tokens of the answer that was generated last, its end included."""
    return cache_of(engine, call_id).ids[len(engine.prompt.ids(messages, [])) :]


def begins_with_the_prompt(engine: EmbeddedEngine, call_id: str, *messages: Message) -> bool:
    """Whether the call's cache holds what was asked last, and nothing left over from before."""
    ids = engine.prompt.ids(messages, [])
    return cache_of(engine, call_id).ids[: len(ids)] == ids


async def test_a_prompt_ends_where_the_template_has_the_assistant_begin(engine: EmbeddedEngine) -> None:
    ids = engine.prompt.ids((SYSTEM, BREAKFAST), [])
    text = engine.prompt.tokenizer.decode(ids, skip_special_tokens=False)
    system = f"<|im_start|>system\n{SYSTEM.content}<|im_end|>\n"
    assert text == f"{system}<|im_start|>user\n{BREAKFAST.content}<|im_end|>\n<|im_start|>assistant\n"
    assert ids[0] == engine.prompt.tokenizer.token_to_id("<|im_start|>"), "a mark is one token"


async def test_an_answer_ends_at_the_stop_token_which_is_not_said(engine: EmbeddedEngine) -> None:
    said = await answer(engine, "stop", SYSTEM, BREAKFAST)
    tokens = written(engine, "stop", SYSTEM, BREAKFAST)
    assert tokens[-1] == engine.prompt.tokenizer.token_to_id("<|im_end|>")
    assert len(tokens) < engine.options.max_tokens
    assert said == engine.prompt.tokenizer.decode(tokens[:-1], skip_special_tokens=False)
    assert "seven" in said or "7" in said


@pytest.fixture(scope="module")
def endless(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model with an end that it never writes: its answers go on as long as they may."""
    found = tmp_path_factory.mktemp("endless")
    for file in folder.iterdir():
        (found / file.name).symlink_to(file)
    config = json.loads((folder / "genai_config.json").read_text())
    config["model"]["eos_token_id"] = config["model"]["vocab_size"] - 1
    (found / "genai_config.json").unlink()
    (found / "genai_config.json").write_text(json.dumps(config))
    return found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def talkative(endless: Path) -> AsyncIterator[EmbeddedEngine]:
    loaded = EmbeddedEngine(endless, EmbeddedOptions(max_tokens=LONG_TOKENS))
    yield loaded
    await loaded.close()


async def test_a_long_answer_ends_at_its_last_token_and_the_call_goes_on(talkative: EmbeddedEngine) -> None:
    said = await answer(talkative, "long", SYSTEM, STORY)
    tokens = written(talkative, "long", SYSTEM, STORY)
    assert len(tokens) == LONG_TOKENS
    assert said == talkative.prompt.tokenizer.decode(tokens).rstrip()
    assert talkative.load == 0
    history = (SYSTEM, STORY, Message("assistant", said), BREAKFAST)
    assert await answer(talkative, "long", *history, pieces=3)
    assert begins_with_the_prompt(talkative, "long", *history)


@pytest.mark.parametrize("pieces", [1, 30])
async def test_a_long_answer_that_is_interrupted_is_freed_and_the_next_one_is_read_from_there(
    talkative: EmbeddedEngine, pieces: int
) -> None:
    await end(talkative, "cut")
    heard = await answer(talkative, "cut", SYSTEM, STORY, pieces=pieces)
    assert talkative.load == 0
    made = len(written(talkative, "cut", SYSTEM, STORY))
    assert made < LONG_TOKENS
    history = (SYSTEM, STORY, Message("assistant", heard), BREAKFAST)
    await answer(talkative, f"fresh {pieces}", *history, pieces=3)
    assert len(written(talkative, "cut", SYSTEM, STORY)) <= made + 1, "it was generated further although nobody listens"
    read = talkative.tokens_read
    assert await answer(talkative, "cut", *history, pieces=3)
    assert begins_with_the_prompt(talkative, "cut", *history)
    new = len(talkative.prompt.ids(history, [])) - len(talkative.prompt.ids((SYSTEM, STORY), []))
    assert talkative.tokens_read - read <= new + 1, "the prompt was read once more"


async def test_an_answer_is_not_read_again_in_the_next_turn(engine: EmbeddedEngine) -> None:
    said = await answer(engine, "turns", SYSTEM, STORY)
    held = len(cache_of(engine, "turns").ids)
    history = (SYSTEM, STORY, Message("assistant", said), BREAKFAST)
    read = engine.tokens_read
    again = await answer(engine, "turns", *history)
    assert engine.tokens_read - read <= len(engine.prompt.ids(history, [])) - held + 1
    assert again == await answer(engine, "other turns", *history)


async def test_words_read_ahead_are_not_read_again(engine: EmbeddedEngine) -> None:
    await session_of(engine, "ahead").prefill((SYSTEM, Message("user", "When is")), [])
    read = engine.tokens_read
    said = await answer(engine, "ahead", SYSTEM, BREAKFAST)
    assert engine.tokens_read - read < 12
    assert said == await answer(engine, "not ahead", SYSTEM, BREAKFAST)


async def test_a_conversation_beyond_the_context_is_shortened_and_still_answered(folder: Path) -> None:
    engine = EmbeddedEngine(folder, EmbeddedOptions(context_tokens=320, max_tokens=40))
    try:
        history, lengths = [SYSTEM], []
        for number in range(16):
            asked = [*history, Message("user", f"This is question number {number}. When is breakfast?")]
            said = await answer(engine, "long", *asked)
            assert said.strip()
            lengths.append(len(engine.prompt.ids(asked, [])))
            held = engine.prompt.tokenizer.decode(cache_of(engine, "long").ids, skip_special_tokens=False)
            assert len(cache_of(engine, "long").ids) <= engine.options.context_tokens
            assert SYSTEM.content in held, "the instructions were left out"
            history = [*asked, Message("assistant", said)]
        assert lengths[-1] > engine.options.context_tokens, "the context was never full"
        assert "seven" in said or "7" in said
    finally:
        await engine.close()


# --- tool calls ---


def tool(name: str, description: str, parameters: dict[str, Any] | None) -> ToolSchema:
    function: dict[str, Any] = {"name": name, "description": description}
    return {"type": "function", "function": function if parameters is None else {**function, "parameters": parameters}}


def of_properties(required: list[str], **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


GUEST = of_properties(["name", "age"], name={"type": "string"}, age={"type": "integer", "minimum": 0, "maximum": 120})
ODD = {
    "no parameters": (None, "Please do it."),
    "an empty object": ({"type": "object", "properties": {}}, "Please do it."),
    "a number within bounds": (
        of_properties(["degrees"], degrees={"type": "number", "minimum": 16, "maximum": 28}),
        "Make it twenty one and a half degrees.",
    ),
    "an optional text of several types": (
        of_properties(["room"], room={"anyOf": [{"type": "integer"}, {"type": "null"}]}, note={"type": ["string", "null"]}),
        "It is for room 12.",
    ),
    "an array of enums": (
        of_properties(["days"], days={"type": "array", "items": {"enum": ["monday", "friday"]}, "minItems": 1, "maxItems": 2}),
        "On Monday and Friday.",
    ),
    "nested objects": (of_properties(["guest"], guest=GUEST), "The guest is Anna, she is 34."),
    "an array of objects by reference": (
        {
            "$defs": {"Guest": GUEST},
            **of_properties(
                ["guests"], guests={"type": "array", "items": {"$ref": "#/$defs/Guest"}, "minItems": 1, "maxItems": 3}
            ),
        },
        "Two guests, Anna who is 34 and Ben who is 7.",
    ),
    "a pattern and a constant": (
        of_properties(["code", "kind"], code={"type": "string", "pattern": "^[A-Z]{2}[0-9]{3}$"}, kind={"const": "booking"}),
        "My code is AB123.",
    ),
    "either of two objects": (
        of_properties(
            ["who"],
            who={"oneOf": [of_properties(["name"], name={"type": "string"}), of_properties(["id"], id={"type": "integer"})]},
        ),
        "It is for number 77.",
    ),
    "any key": ({"type": "object", "additionalProperties": {"type": "boolean"}}, "Lights on, heating off."),
    "a name that is not ASCII": (of_properties(["größe"], größe={"enum": ["groß", "klein"]}), "The large one."),
}


@pytest.mark.parametrize("odd", ODD)
async def test_a_call_fits_its_tool_whatever_the_schema(engine: EmbeddedEngine, odd: str) -> None:
    parameters, said = ODD[odd]
    tools = [tool("do_it", "Do what the guest wants.", parameters), tool("get_menu", "What there is to eat.", {"type": "object"})]
    call = begun_call(engine, tools, Message("user", said))
    assert call.name in ("do_it", "get_menu")
    if call.name == "do_it":
        jsonschema.validate(json.loads(call.arguments), parameters or {"type": "object", "maxProperties": 0})


def begun_call(engine: EmbeddedEngine, tools: list[ToolSchema], said: Message) -> ToolCall:
    """The call that the model makes where it has to make one: its answer begins with a call's mark."""
    messages = (SYSTEM, said)
    mark = engine.prompt.encode("<tool_call>")[0]
    cache = KvCache(engine.worker.generator())
    cache.generator.append_tokens(engine.prompt.ids(messages, tools) + mark)
    constraint = engine._model.constraints.of(tools)
    assert constraint is not None
    for token in mark:
        constraint.took(token)
    assert constraint.inside
    tokens = list(mark)
    while constraint.inside and len(tokens) < LONGEST_CALL_TOKENS:
        tokens += engine.worker._next_tokens(cache, constraint)
    text = engine.prompt.tokenizer.decode(tokens, skip_special_tokens=False)
    reader = engine.prompt.answer(messages, tools)
    (call,) = [piece for piece in (*reader.feed(text), *reader.finish()) if isinstance(piece, ToolCall)]
    return call
