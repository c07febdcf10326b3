"""An OpenAI-compatible server whose replies are scripts: deltas, and waits for what a test lets happen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tests.llm.faulty_server import FaultyServer, chunk, served

Delta = dict[str, Any]
MOST_S = 30.0


@dataclass(frozen=True)
class Until:
    """Send `delta` again and again, if there is one, until the event."""

    event: asyncio.Event
    delta: Delta | None = None


Script = list[Delta | Until]


class ScriptedServer(FaultyServer):
    """`answer` makes the script of a reply from the messages. A prefill is answered with one empty delta."""

    def __init__(self, answer: Callable[[list[Delta]], Script]) -> None:
        super().__init__()
        self.answer = answer

    async def complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(body)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(chunk({"role": "assistant", "content": ""}))
        for step in self.answer(body["messages"]) if body.get("max_tokens") != 1 else []:
            if isinstance(step, Until):
                await self._until(response, step)
            else:
                await response.write(chunk(step))
        await response.write(b"data: [DONE]\n\n")
        return response

    async def _until(self, response: web.StreamResponse, step: Until) -> None:
        async with asyncio.timeout(MOST_S):
            while step.delta is not None and not step.event.is_set():
                await response.write(chunk(step.delta))
                await asyncio.sleep(0.05)
            await step.event.wait()


@asynccontextmanager
async def scripted_server(answer: Callable[[list[Delta]], Script]) -> AsyncIterator[ScriptedServer]:
    """The server on a free port of loopback."""
    server = ScriptedServer(answer)
    async with served(server):
        yield server
