"""Calls that are typed from their first message on, in real Chromium without a microphone: an earlier message is said anew, and
the inspector shows what goes on."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.browser.browsers import installed
from tests.calls.scripted_model import Message, agent_on
from tests.calls.test_resume import TOOLS
from tests.server_process import ServerProcess

pytestmark = pytest.mark.asyncio(loop_scope="module")

SETTINGS = "instructions: Help.\nphrases: {greeting: Good morning., fillers: []}\n"


def knows(messages: list[Message]) -> str | tuple[str, str]:
    """Book a table where that is asked for, or say all that the caller has said."""
    last = messages[-1]
    if last["role"] == "tool":
        return "Your table is booked."
    if last["content"] == "Book a table.":
        return "book_table", "{}"
    said = [message["content"] for message in messages if message["role"] == "user"]
    assert [message["role"] for message in messages].count("tool") == ("Book a table." in said)
    return f"I know {' '.join(said)}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServerProcess]:
    async with agent_on(tmp_path_factory.mktemp("typed"), knows, TOOLS, SETTINGS) as running:
        yield running


async def seen_by(program: str, server: ServerProcess, *packages: str) -> dict[str, Any]:
    """What a program beside this file saw on the page."""
    shots = os.environ.get("VOICEAGENT_SCREENSHOTS", "-")
    return await installed("chromium", *packages).seen(program, server.url, shots)


@pytest.mark.browser
async def test_a_call_is_typed_and_an_earlier_message_is_said_anew(server: ServerProcess) -> None:
    seen = await seen_by("typing.mjs", server)
    assert seen["button"] == "Speak"
    assert "stays done" in seen["note"]
    assert [line for line in seen["lines"] if "morning" not in line] == ["One.", "I know One.", "Three.", "I know One. Three."]
    assert seen["undone"][0].startswith("YouBook a table.")
    assert len(seen["undone"]) == 5


@pytest.mark.browser
async def test_the_inspector_shows_events_tools_and_prompts_and_tries_settings(server: ServerProcess) -> None:
    seen = await seen_by("inspector.mjs", server, "axe-core")
    assert seen["violations"] == []
    assert {"session.created", "conversation.item.create", "response.done", "voiceagent.tool"} <= set(seen["both"])
    assert not any(name.endswith(".delta") for name in seen["both"])
    assert set(seen["sent"]) == {"output_audio_buffer.clear", "conversation.item.create", "response.create"}
    assert "voiceagent.tool" in seen["filtered"]
    assert "session.created" not in seen["filtered"]
    assert seen["opened"] == seen["copied"]
    logged = [json.loads(line) for line in seen["all"].splitlines()]
    assert any(event["type"].endswith(".delta") for event in logged)
    assert seen["tokens"]
    assert not any(token in seen["all"] for token in seen["tokens"]), "a resume token is shown"
    name, _, moment, took, result = seen["tools"].split("\t")
    assert name == "book_table"
    assert moment.endswith(" s")
    began, ended = seen["taken"]
    assert (began["status"], ended["status"]) == ("running", "completed")
    shown_ms = int(took.removesuffix(" ms").replace(",", ""))
    assert ended["since"] - began["until"] - 1 <= shown_ms <= ended["until"] - began["since"] + 1
    assert "booked" in result
    assert seen["prompt"][:2] == ["system", "Help."]
    assert seen["prompt"][-2:] == ["user", "Two."]
    assert "tool" in seen["prompt"]
    assert seen["again"] == "Nothing is different."
    assert "16" in seen["refused"]
    assert "does not show prompts to this key" in seen["notShown"]
    assert seen["bound"]["length"] <= 2_000
    assert seen["bound"]["characters"] <= 2_000_000
    assert seen["bound"]["dropped"] > 3_000
