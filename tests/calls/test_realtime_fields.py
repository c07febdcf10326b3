"""Each field of the session, of a response and of an item, set over a WebSocket: a value that can be used is in force and shown,
any other is an error that names the field. So docs/realtime.md is true, and nothing is passed over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.calls.scripted_model import NO_TOOLS, agent_on
from tests.calls.sdk_caller import SdkCaller
from tests.server_process import ServerProcess, running_server
from voiceagent.realtime.openai_items import ITEM_FIELDS, SPEECH_FIELDS, TEXT_FIELDS
from voiceagent.realtime.openai_realtime import RESPONSE_FIELDS
from voiceagent.realtime.openai_session import NOISE_FIELDS, SESSION_FIELDS, TRANSCRIPTION_FIELDS, TURN_FIELDS

FUNCTION = {"type": "function", "name": "open_door", "description": "", "parameters": {"type": "object", "properties": {}}}
NAMED = {"type": "function", "name": "open_door"}

UNSHOWN = object()
"""In place of what is shown: the value asks for nothing, and is not shown."""
SAME = object()
"""In place of what is shown: the value."""
NONE = object()
"""In place of a value that can be used: there is none that asks for something."""
SESSION: dict[str, tuple[object, object, object]] = {
    "type": ("realtime", SAME, "translation"),
    "model": ("gpt-realtime", SAME, 7),
    "instructions": ("Be brief.", SAME, 7),
    "output_modalities": (["text"], SAME, ["audio", "text"]),
    "max_output_tokens": (20, SAME, 4097),
    "tools": ([FUNCTION], SAME, {}),
    "tool_choice": (NAMED, SAME, {"type": "function", "name": "close_door"}),
    "parallel_tool_calls": (False, SAME, "no"),
    "prompt": (None, UNSHOWN, {"id": "pmpt_1"}),
    "reasoning": (None, UNSHOWN, {"effort": "low"}),
    "tracing": ({"workflow_name": "w"}, SAME, {"colour": "red"}),
    "truncation": (
        {"type": "retention_ratio", "retention_ratio": 0.5, "token_limits": {"post_instructions": 500}},
        SAME,
        {"type": "retention_ratio", "retention_ratio": 2},
    ),
    "include": ([], UNSHOWN, ["item.input_audio_transcription.logprobs"]),
    "audio.input.format": ({"type": "audio/pcmu"}, SAME, {"type": "audio/pcm", "rate": 16_000}),
    "audio.input.noise_reduction": (None, SAME, {"type": "all_field"}),
    "audio.input.noise_reduction.strength": (NONE, UNSHOWN, {"type": "near_field", "strength": 0.5}),
    "audio.input.transcription": (None, SAME, "on"),
    "audio.input.transcription.model": ({"model": "whisper-1"}, SAME, {"model": 7}),
    "audio.input.transcription.language": ({"language": "en"}, SAME, {"language": "tlh"}),
    "audio.input.transcription.prompt": ({"prompt": ""}, {}, {"prompt": "names"}),
    "audio.input.transcription.keywords": ({"keywords": []}, {}, {"keywords": ["name"]}),
    "audio.input.transcription.languages": ({"languages": []}, {}, {"languages": ["en"]}),
    "audio.input.transcription.delay": ({"delay": None}, {}, {"delay": "low"}),
    "audio.input.turn_detection": (None, SAME, {"type": "magic"}),
    "audio.input.turn_detection.type": ({"type": "server_vad"}, ..., {"type": 7}),
    "audio.input.turn_detection.threshold": (
        {"type": "server_vad", "threshold": 0.5},
        ...,
        {"type": "server_vad", "threshold": 2},
    ),
    "audio.input.turn_detection.prefix_padding_ms": (
        {"type": "server_vad", "prefix_padding_ms": 300},
        ...,
        {"type": "server_vad", "prefix_padding_ms": -1},
    ),
    "audio.input.turn_detection.silence_duration_ms": (
        {"type": "server_vad", "silence_duration_ms": 500},
        ...,
        {"type": "server_vad", "silence_duration_ms": 1},
    ),
    "audio.input.turn_detection.create_response": (
        {"type": "semantic_vad", "create_response": False},
        ...,
        {"type": "semantic_vad", "create_response": 1},
    ),
    "audio.input.turn_detection.interrupt_response": (
        {"type": "semantic_vad", "interrupt_response": False},
        ...,
        {"type": "semantic_vad", "interrupt_response": 1},
    ),
    "audio.input.turn_detection.idle_timeout_ms": (
        {"type": "server_vad", "idle_timeout_ms": 6000},
        ...,
        {"type": "semantic_vad", "idle_timeout_ms": 6000},
    ),
    "audio.input.turn_detection.eagerness": (
        {"type": "semantic_vad", "eagerness": "high"},
        ...,
        {"type": "semantic_vad", "eagerness": "highest"},
    ),
    "audio.output.format": ({"type": "audio/pcma"}, SAME, {"type": "audio/mp3"}),
    "audio.output.voice": ("marin", SAME, 7),
    "audio.output.speed": (0.25, SAME, 0.2),
}
"""By field: a value that can be used, what the session then shows (`...`: all that was given), and one that cannot be used."""
NESTED = {
    "audio.input.noise_reduction": {name: NOISE_FIELDS[name] for name in ("strength",)},
    "audio.input.transcription": TRANSCRIPTION_FIELDS,
    "audio.input.turn_detection": {name: field for fields in TURN_FIELDS.values() for name, field in fields.items()},
}
RESPONSE: dict[str, object] = {
    "instructions": 7,
    "output_modalities": ["video"],
    "max_output_tokens": 0,
    "tools": [{"type": "mcp", "server_label": "s"}],
    "tool_choice": {"type": "function", "name": "close_door"},
    "parallel_tool_calls": 1,
    "prompt": {"id": "pmpt_1"},
    "reasoning": {"effort": "low"},
    "conversation": "other",
    "input": "hello",
    "metadata": {"a": 1},
    "audio.output.format": {"type": "audio/pcmu"},
    "audio.output.voice": 7,
}
MESSAGE = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello."}]}
CALL = {"type": "function_call", "call_id": "c1", "name": "open_door", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "{}"}
APPROVAL = {"type": "mcp_approval_response", "approval_request_id": "r", "approve": True}
ITEMS: dict[str, dict[str, Any]] = {
    "message": MESSAGE,
    "function_call": CALL,
    "function_call_output": OUTPUT,
    "mcp_approval_response": APPROVAL,
}
PARTS: list[dict[str, Any]] = [
    {"type": "input_text", "text": 7},
    {"type": "input_audio", "transcript": 7},
    {"type": "input_audio", "audio": "AAAA", "transcript": "Hello."},
    {"type": "input_text", "text": "Hello.", "image_url": "data:"},
    {"type": "input_text", "text": "Hello.", "detail": "high"},
    {"type": "input_image", "image_url": "data:"},
]


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """An agent that does not speak first."""
    folder = tmp_path_factory.mktemp("quiet")
    (folder / "agent.yaml").write_text("instructions: Be brief.\nphrases: {greeting: ''}\n")
    with running_server(folder, "--config", str(folder / "agent.yaml")) as running:
        yield running


def inside(path: str, value: object) -> dict[str, Any]:
    """The object that holds the value at this path."""
    *outer, last = path.split(".")
    found: dict[str, Any] = {last: value}
    for name in reversed(outer):
        found = {name: found}
    return found


def at(path: str, session: Any) -> object:
    """The value at this path."""
    for name in path.split("."):
        session = session[name]
    return session


def set_at(field: str) -> str:
    """The path at which a field is set: its object, where it is one of an object that is set as a whole."""
    return next((path for path in NESTED if field.startswith(f"{path}.")), field)


async def test_each_field_of_the_session_is_in_force_or_an_error(quiet: ServerProcess) -> None:
    fields = {*SESSION_FIELDS, *(f"{path}.{name}" for path, names in NESTED.items() for name in names)}
    assert set(SESSION) == fields, "each field is tried"
    async with SdkCaller(quiet.url) as caller:
        for field, (usable, shown, unusable) in SESSION.items():
            path = set_at(field)
            if usable is not NONE:
                session = await caller.update(**inside(path, usable))
                if shown is ...:
                    assert isinstance(usable, dict)
                    assert usable.items() <= at(path, session).items()  # type: ignore[attr-defined]
                elif shown is not UNSHOWN:
                    assert at(path, session) == (usable if shown is SAME else shown), field
            await caller.send("session.update", session={"type": "realtime", **inside(path, unusable)}, event_id=field)
            error = (await caller.wait("error"))["error"]
            assert (error["event_id"], error["param"]) == (field, f"session.{path}")
            if path != field and field != f"{path}.type" and field != f"{path}.strength":
                assert field.rpartition(".")[2] in error["message"]
        await caller.send("session.update", session={"type": "realtime", "temperature": 0.8}, event_id="unknown")
        assert (await caller.wait("error"))["error"]["param"] == "session.temperature"


async def test_each_field_of_a_response_and_an_item_is_checked(quiet: ServerProcess) -> None:
    assert RESPONSE.keys() == RESPONSE_FIELDS.keys(), "each field is tried"
    assert ITEMS.keys() == ITEM_FIELDS.keys(), "each kind is tried"
    assert {name for part in PARTS for name in part} >= {*TEXT_FIELDS, *SPEECH_FIELDS}
    async with SdkCaller(quiet.url) as caller:
        for field, unusable in RESPONSE.items():
            await caller.send("response.create", response=inside(field, unusable), event_id=field)
            error = (await caller.wait("error"))["error"]
            assert (error["event_id"], error["param"]) == (field, f"response.{field}")
        for kind, item in ITEMS.items():
            for field in ITEM_FIELDS[kind]:
                name = f"{kind}.{field}"
                await caller.send("conversation.item.create", item={**item, field: {"no": "value"}}, event_id=name)
                error = (await caller.wait("error"))["error"]
                assert (error["event_id"], error["param"]) == (name, f"item.{field}")
        for number, part in enumerate(PARTS):
            await caller.send("conversation.item.create", item={**MESSAGE, "content": [part]}, event_id=f"part{number}")
            error = (await caller.wait("error"))["error"]
            assert error["event_id"] == f"part{number}"
            assert error["param"].startswith("item.content[0].")
        spoken = {"type": "input_audio", "transcript": "Hello."}
        await caller.send("conversation.item.create", item={**MESSAGE, "id": "spoken", "content": [spoken]})
        assert (await caller.wait("conversation.item.done"))["item"]["content"] == [spoken]
        answer = {"type": "message", "role": "assistant", "content": [{"type": "output_audio", "transcript": "Good day."}]}
        await caller.send("conversation.item.create", item=answer)
        assert (await caller.wait("conversation.item.done"))["item"]["content"] == answer["content"]


@pytest.mark.parametrize(("parallel", "count"), [(True, 2), (False, 1)])
async def test_tools_are_called_one_at_a_time_where_the_client_wants_that(tmp_path: Path, parallel: bool, count: int) -> None:
    def opens_twice(messages: list[dict[str, Any]]) -> str | list[tuple[str, str]]:
        return [("open_door", "{}"), ("open_door", "{}")] if messages[-1]["role"] == "user" else "Open."

    async with agent_on(tmp_path, opens_twice, NO_TOOLS) as server, SdkCaller(server.url) as caller:
        await caller.update(tools=[FUNCTION], parallel_tool_calls=parallel, output_modalities=["text"])
        await caller.write("Open the door.")
        await caller.connection.response.create()
        calls: list[dict[str, Any]] = []
        while len(calls) < count:
            calls += (await caller.wait("response.done"))["response"]["output"]
        assert len(calls) == count
        for call in calls:
            item: Any = {"type": "function_call_output", "call_id": call["call_id"], "output": "{}"}
            await caller.connection.conversation.item.create(item=item)
        (words,) = (await caller.wait("response.done"))["response"]["output"]
        assert words["content"][0]["text"] == "Open."
