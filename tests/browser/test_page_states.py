"""The page in each of its states, in real Chromium and real Firefox against a real server: nobody is kept out, nothing is cut,
each state says what it is, and a server that dies is noticed within two seconds."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import ExitStack
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from tests.browser.browsers import COMMANDS, installed, recorded, speech
from tests.calls.scripted_model import Message, ScriptedModel
from tests.loopback import on_loopback
from tests.server_process import running_server
from voiceagent.server.access.key_file import KeyFile

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

NOTICED_MS = 2000.0
STORY = "Once upon a time a small boat went out to sea, and the wind was kind, and all the fish were asleep, and nobody knew why."
SPOKEN = "What's the weather in Paris tomorrow and in Berlin tomorrow?"
TYPED = {"Book a table.", "It is about an invoice.", "Tell me a story."}
ANSWERS: dict[str, str | tuple[str, str]] = {
    "table": ("book_table", "{}"),
    "invoice": ("note", '{"reason": "invoice"}'),
    "story": STORY,
}
"""To what is typed, by a word of it."""
AGENT = """name: Front desk
profile: embedded
tools: [own_tools.py]
llm: {base_url: 'MODEL/v1', model: m, first_token_timeout_s: 60}
phrases: {greeting: 'Hello.'}
examples: [Book a table., Tell me a story.]
turn: {resume_timeout_s: 3, reply_filler_after_ms: 0, filler_after_ms: 0, tool_timeout_s: 60}
steps:
  reason: {values: {reason: {type: string, enum: [invoice, other]}}, next: [{to: number, when: {reason: invoice}}]}
  number: {values: {number: {type: integer}}}
telephony: {recording: {folder: kept, announcement: 'Hello.', browsers: true, min_free_mb: 1}}
"""
TOOLS = '''
import asyncio
from urllib.request import urlopen
from voiceagent.tools import tool

@tool
async def book_table() -> dict[str, str]:
    """Book a table."""
    await asyncio.to_thread(lambda: urlopen("MODEL/held").close())
    return {"booked": "table"}
'''


def answer(messages: list[Message]) -> str | tuple[str, str]:
    last = messages[-1]
    if last["role"] == "tool":
        return "It is done."
    return next((told for word, told in ANSWERS.items() if word in last["content"]), "It is sunny.")


class HoldingModel(ScriptedModel):
    """Answers what is spoken once it is released, and fails where that is asked for."""

    def __init__(self) -> None:
        super().__init__(answer)
        self._released = asyncio.Event()

    async def complete(self, request: web.Request) -> web.StreamResponse:
        last = (await request.json())["messages"][-1]
        if last["content"] == "Fail.":
            raise web.HTTPInternalServerError
        if last["role"] == "user" and last["content"] not in TYPED:
            await self.held(request)
        return await super().complete(request)

    async def held(self, _: web.Request) -> web.Response:
        await self._released.wait()
        return web.Response()

    async def release(self, _: web.Request) -> web.Response:
        self._released.set()
        self._released = asyncio.Event()
        return web.Response()


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=list(COMMANDS))
async def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[dict[str, Any]]:
    """What a person who goes through all states has seen, in each browser."""
    browser = installed(request.param, "axe-core")
    folder = tmp_path_factory.mktemp(f"states-{browser.name}")
    shots = os.environ.get("VOICEAGENT_SCREENSHOTS", "-")
    key = KeyFile(folder / "keys.json").add("page")
    said = await speech((SPOKEN,))
    model, app = HoldingModel(), web.Application()
    app.router.add_get("/v1/models", model.models)
    app.router.add_post("/v1/chat/completions", model.complete)
    app.router.add_get("/held", model.held)
    app.router.add_get("/release", model.release)
    async with on_loopback(app) as url:
        (folder / "own_tools.py").write_text(TOOLS.replace("MODEL", url))
        (folder / "agent.yaml").write_text(AGENT.replace("MODEL", url))
        starting = running_server(folder, "--config", str(folder / "agent.yaml"), exit_code=-signal.SIGKILL)
        with ExitStack() as stack:  # in a thread, because the model answers from this loop while the server starts
            server = await asyncio.to_thread(stack.enter_context, starting)
            pid, spoken = str(server.process.pid), recorded(folder / "speech.wav", said)
            try:
                yield await browser.seen("states.mjs", server.url, pid, key, url, spoken, shots)
            finally:
                server.process.kill()


async def test_nobody_is_kept_out_and_nothing_is_cut_in_any_state(seen: dict[str, Any]) -> None:
    assert seen["violations"] == []


async def test_a_server_that_dies_or_freezes_is_noticed_within_two_seconds(seen: dict[str, Any]) -> None:
    assert seen["killedMs"] <= NOTICED_MS
    assert "Your call waits" in seen["shown"]["resuming"]
    assert "connection to the server was lost" in seen["shown"]["lost"]
    assert seen["frozenMs"] <= NOTICED_MS
    assert "Nothing comes from the server" in seen["shown"]["quiet"]


async def test_a_call_begins_unmuted_whatever_the_one_before_it_was(seen: dict[str, Any]) -> None:
    assert seen["shown"]["muted"] == ["false", "Mute"]
    assert seen["shown"]["mutedAgain"] == ["false", "Mute"]


async def test_the_page_looked_while_the_agent_spoke(seen: dict[str, Any]) -> None:
    assert seen["shown"]["stillSpeaking"] == "speaking"


async def test_what_was_spoken_is_shown(seen: dict[str, Any]) -> None:
    assert "weather" in seen["shown"]["spoken"]


async def test_a_wrong_key_is_told_apart_from_a_missing_one(seen: dict[str, Any]) -> None:
    assert "wants a key" in seen["shown"]["missing"]
    assert "does not know this key" in seen["shown"]["wrong"]


async def test_the_parts_of_a_typed_turn_add_up_to_its_wait(seen: dict[str, Any]) -> None:
    lines = [line for line in seen["shown"]["turn"].replace(",", "").splitlines() if line.strip()]
    figures = [
        int(word)
        for line in lines
        for word, unit in zip(line.split(), line.split()[1:], strict=False)
        if unit == "ms" and word.isdigit()
    ]
    assert "no sound" not in seen["shown"]["turn"]
    whole_ms, *parts_ms = figures
    until = parts_ms.index(whole_ms)
    assert sum(parts_ms[:until]) == whole_ms
