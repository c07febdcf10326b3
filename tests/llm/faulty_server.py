"""An OpenAI-compatible server that goes wrong on purpose, over real HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from tests.loopback import on_loopback


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
        self.owner = "x"
        self.context_messages = 1000
        self.metrics_text = ""
        self.models_body = ""
        """Instead of the list of models."""
        self.stream_body = b""
        """Instead of a reply's events."""
        self.likely: list[tuple[str, float]] = []
        """The likeliest tokens of an answer that is no stream, with their log-probabilities."""
        self.url = ""
        self.disconnected = asyncio.Event()
        self.requests: list[dict[str, Any]] = []

    async def models(self, _: web.Request) -> web.Response:
        if self.models_body:
            kind = "application/json" if self.models_body[0] in "[{" else "text/html"
            return web.Response(text=self.models_body, content_type=kind)
        model = {"id": "m", "object": "model", "created": 0, "owned_by": self.owner}
        return web.json_response({"object": "list", "data": [model]})

    async def metrics(self, _: web.Request) -> web.Response:
        return web.Response(text=self.metrics_text)

    async def complete(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(await request.json())
        if self.fault in ("401", "404", "429", "500", "503"):
            return web.json_response({"error": {"message": "on purpose"}}, status=int(self.fault))
        if len(self.requests[-1]["messages"]) > self.context_messages:
            return _refusal("This model's maximum context length is 40 tokens. Please reduce the length of the messages.")
        if self.fault == "no priorities" and self.requests[-1].get("priority"):
            return _refusal("Got priority 1 but priority scheduling is not enabled.")
        if self.fault == "no grammar" and self.requests[-1].get("tools", [{"function": {}}])[0]["function"].get("strict"):
            return _refusal("The provided JSON schema contains features not supported by xgrammar.")
        if self.fault == "goes on with nobody" and self.requests[-1].get("continue_final_message"):
            return _refusal("continue_final_message: Extra inputs are not permitted")
        if self.fault == "no usage" and self.requests[-1].get("stream_options"):
            return _refusal("stream_options: Extra inputs are not permitted")
        if self.fault == "silent":
            await self._hang()
        if not self.requests[-1].get("stream"):
            return web.json_response(self._whole())
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        if self.stream_body:
            await response.write(self.stream_body)
        elif self.fault == "garbage":
            await response.write(b"data: {not json\n\n")
        elif self.fault == "gives up":
            await response.write(b'data: {"error": {"message": "EngineCore encountered an issue", "code": 500}}\n\n')
        elif self.fault == "endless":
            await self._talk(response, "and so on ")
        elif self.fault == "raw tools":
            for piece in ("<tool", '_call>\n{"name": "get_time", "argu', 'ments": {"city": "Oslo"}}\n</tool_call>'):
                await response.write(chunk({"content": piece}))
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
        if self.fault == "trickles":
            await self._talk(response, "")
        await response.write(b"data: [DONE]\n\n")
        return response

    def _whole(self) -> dict[str, Any]:
        """An answer of one token."""
        told = [{"token": text, "logprob": value, "bytes": None} for text, value in self.likely]
        logprobs = {"content": [{"token": " and", "logprob": -1.0, "bytes": None, "top_logprobs": told}]} if told else None
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": " and"},
            "finish_reason": "length",
            "logprobs": logprobs,
        }
        return {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}

    async def _talk(self, response: web.StreamResponse, text: str) -> None:
        try:
            while True:
                await response.write(chunk({"content": text}))
                await asyncio.sleep(0.01)
        finally:
            self.disconnected.set()

    async def _hang(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.disconnected.set()


def _refusal(message: str) -> web.Response:
    return web.json_response({"error": {"message": message, "type": "BadRequestError"}}, status=400)


@asynccontextmanager
async def faulty_server() -> AsyncIterator[FaultyServer]:
    """The server on a free port of loopback."""
    server = FaultyServer()
    async with served(server):
        yield server


@asynccontextmanager
async def served(server: FaultyServer) -> AsyncIterator[None]:
    """Serve it, until the end of the block."""
    app = web.Application()
    app.router.add_get("/v1/models", server.models)
    app.router.add_get("/metrics", server.metrics)
    app.router.add_post("/v1/chat/completions", server.complete)
    async with on_loopback(app) as address:
        server.url = f"{address}/v1"
        yield
