"""Long answers on a published voice: heard to their end, without a gap inside, and interrupted in the middle. The words
come from a server that writes what it is told to, as fast as a language model."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.llm.faulty_server import chunk
from tests.loopback import on_loopback
from tests.real.conftest import PROFILE, Said
from tests.server_process import ServerProcess, running_server
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue

TOKEN_S = 0.01
LONG = (
    "The museum opens at nine in the morning and closes at six in the evening. On Thursdays it stays open until ten. "
    "Tickets cost twelve euros for adults and seven euros for students. Children under twelve come in for free. "
    "There is a small restaurant on the second floor, which serves soup, salads and cake until half past four. "
    "The guided tour through the old town begins in front of the main entrance and takes about two hours."
)
SHORT = "It is free on Sundays."
ASK = "Tell me about the museum."
AGAIN = "Wait. When is it free?"
LONGEST_PAUSE_MS = 900.0
"""Between sentences; a voice that falls behind leaves longer ones."""
HEARD_BEFORE_INTERRUPTING = "students"
"""Two sentences and a half."""


@dataclass
class Writer:
    """Writes the long answer first, then short ones."""

    url: str = ""
    asked: list[list[dict[str, Any]]] = field(default_factory=list)
    """The messages of each request that was answered in words."""

    async def models(self, _: web.Request) -> web.Response:
        model = {"id": "writer", "object": "model", "created": 0, "owned_by": "test"}
        return web.json_response({"object": "list", "data": [model]})

    async def complete(self, request: web.Request) -> web.StreamResponse:
        body: dict[str, Any] = await request.json()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        if 1 not in (body.get("max_tokens"), body.get("max_completion_tokens")):  # more than a prompt read ahead
            self.asked.append(body["messages"])
            spoken = [message for message in body["messages"] if message["role"] == "user"]
            for word in re.findall(r"\S+\s*", LONG if len(spoken) == 1 else SHORT):
                await response.write(chunk({"content": word}))
                await asyncio.sleep(TOKEN_S)
        await response.write(b"data: [DONE]\n\n")
        return response


@asynccontextmanager
async def writing() -> AsyncIterator[Writer]:
    writer = Writer()
    app = web.Application()
    app.router.add_get("/v1/models", writer.models)
    app.router.add_post("/v1/chat/completions", writer.complete)
    async with on_loopback(app) as address:
        writer.url = f"{address}/v1"
        yield writer


@asynccontextmanager
async def answering(folder: Path) -> AsyncIterator[tuple[Writer, ServerProcess]]:
    """A server of the profile whose words come from a `Writer`."""
    async with writing() as writer:
        settings = f"instructions: You work for a museum.\nllm: {{base_url: '{writer.url}', model: writer}}\n"
        (folder / "agent.yaml").write_text(settings + "phrases: {greeting: Hello.}\n")
        starting = running_server(folder, "--config", str(folder / "agent.yaml"), "--profile", PROFILE)
        server = await asyncio.to_thread(starting.__enter__)  # in a thread, because the writer answers from this loop
        try:
            yield writer, server
        finally:
            await asyncio.to_thread(starting.__exit__, None, None, None)


async def test_a_long_answer_is_heard_to_its_end_without_a_gap(tmp_path: Path, said: Said) -> None:
    async with answering(tmp_path) as (_, server), Caller(server.url) as caller, Dialogue(caller, timeout_s=60) as dialogue:
        await dialogue.wait_greeting()
        (turn,) = await dialogue.turn(ASK, *await said(ASK))
        spans = [span for span in caller.heard.spans if span.onset_ms > (caller.said.last_voiced_ms or 0.0)]
    assert turn.heard == LONG
    assert not turn.unheard
    pauses_ms = [later.onset_ms - earlier.offset_ms for earlier, later in itertools.pairwise(spans)]
    assert max(pauses_ms) < LONGEST_PAUSE_MS, pauses_ms


async def test_an_interruption_in_the_middle_leaves_in_history_what_was_heard(tmp_path: Path, said: Said) -> None:
    async with answering(tmp_path) as (writer, server), Caller(server.url) as caller, Dialogue(caller, timeout_s=60) as dialogue:
        await dialogue.wait_greeting()
        caller.say(*await said(ASK))
        await dialogue.wait_event(
            lambda event: event.type == "voiceagent.heard" and HEARD_BEFORE_INTERRUPTING in event.data["heard"], 0, "the middle"
        )
        (turn,) = await dialogue.turn(AGAIN, *await said(AGAIN))
        heard = [event.data for event in dialogue.events_since(0) if event.type == "voiceagent.heard"]
    assert turn.heard.endswith(SHORT)
    cut = [event for event in heard if event["unheard"] and HEARD_BEFORE_INTERRUPTING in event["heard"]][-1]
    assistant = [message["content"] for message in writer.asked[-1] if message["role"] == "assistant"]
    assert LONG.startswith(cut["heard"])
    assert f"{cut['heard']} {cut['unheard']}" == LONG
    assert cut["heard"] in assistant
    assert not any(cut["unheard"] in message for message in assistant)
