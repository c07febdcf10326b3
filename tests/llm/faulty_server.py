"""An OpenAI-compatible server that goes wrong on purpose, over real HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web


def chunk(delta: dict[str, Any]) -> bytes:
    """One server-sent event of a chat completion."""
    data = {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
    }
    return f"data: {json.dumps(data)}\n\n".encode()


class FaultyServer:
    """`fault` chooses what goes wrong; `disconnected` is set when a client leaves in the middle of a reply."""

    def __init__(self) -> None:
        self.fault = ""
        self.url = ""
        self.disconnected = asyncio.Event()
        self.requests: list[dict[str, Any]] = []

    async def models(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "m", "object": "model", "created": 0, "owned_by": "x"}]})

    async def complete(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(await request.json())
        if self.fault in ("401", "404", "500"):
            return web.json_response({"error": {"message": "on purpose"}}, status=int(self.fault))
        if self.fault == "silent":
            await self._hang()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        if self.fault == "garbage":
            await response.write(b"data: {not json\n\n")
        elif self.fault == "tools":
            await response.write(chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "get_", "arguments": ""}}]}))
            await response.write(chunk({"tool_calls": [{"index": 0, "function": {"name": "time", "arguments": '{"city"'}}]}))
            await response.write(chunk({"tool_calls": [{"index": 0, "function": {"arguments": ': "Oslo"}'}}]}))
        else:
            await response.write(chunk({"content": "Hello "}))
            await response.write(chunk({"content": "there."}))
        if self.fault == "dies" and request.transport is not None:
            request.transport.abort()
            return response
        if self.fault == "stalls":
            await self._hang()
        await response.write(b"data: [DONE]\n\n")
        return response

    async def _hang(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.disconnected.set()


@asynccontextmanager
async def faulty_server() -> AsyncIterator[FaultyServer]:
    """The server on a free port of loopback."""
    server = FaultyServer()
    app = web.Application()
    app.router.add_get("/v1/models", server.models)
    app.router.add_post("/v1/chat/completions", server.complete)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield server
    finally:
        await runner.cleanup()
