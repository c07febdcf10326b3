"""Servers of others that tell whoever asks all that they were told: a language model, a webhook and an MCP server whose failures
repeat the request's address and headers, over real HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from tests.llm.faulty_server import chunk
from tests.loopback import on_loopback


def echo(request: web.Request) -> str:
    """What the request said, as one line."""
    return f"{request.url} {dict(request.headers)}"


class EchoingServer:
    """`model_fault`, `hook_fault` and `mcp_fault` choose what goes wrong; `tool` is what the model calls."""

    def __init__(self) -> None:
        self.model_fault = self.hook_fault = self.mcp_fault = ""
        self.tool = ""
        self.url = ""
        self.asked: list[str] = []
        """What was echoed."""

    async def _fail(self, request: web.Request, fault: str) -> web.StreamResponse:
        said = echo(request)
        self.asked.append(said)
        if fault == "silent":
            await asyncio.Event().wait()
        if fault == "malformed":
            return web.Response(text=f"{{not json {said}", content_type="application/json")
        if fault == "page":
            return web.Response(text=f"<html>{said}</html>", status=502, content_type="text/html")
        if fault == "elsewhere":
            raise web.HTTPTemporaryRedirect(f"http://127.0.0.2:9/{said[:300]}")
        if fault == "breaks" and request.transport is not None:
            request.transport.abort()
            return web.Response()
        return web.json_response({"error": {"message": said} if request.path.startswith("/v1") else said}, status=int(fault))

    async def models(self, request: web.Request) -> web.StreamResponse:
        """GET /v1/models."""
        self.asked.append(echo(request))
        model = {"id": "m", "object": "model", "created": 0, "owned_by": "x"}
        return web.json_response({"object": "list", "data": [model]})

    async def complete(self, request: web.Request) -> web.StreamResponse:
        """POST /v1/chat/completions."""
        messages: list[dict[str, Any]] = (await request.json())["messages"]
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        if self.model_fault in ("gives up", "garbage", "stops"):
            self.asked.append(echo(request))
            await response.prepare(request)
            if self.model_fault == "gives up":
                await response.write(f"data: {json.dumps({'error': {'message': echo(request), 'code': 500}})}\n\n".encode())
            elif self.model_fault == "garbage":
                await response.write(f"data: {{not json {echo(request)}\n\n".encode())
            else:
                await response.write(chunk({"content": "Well, "}))
                await asyncio.Event().wait()
            return response
        if self.model_fault:
            return await self._fail(request, self.model_fault)
        await response.prepare(request)
        if self.tool and messages[-1]["role"] == "user":
            call = {"index": 0, "id": "a", "function": {"name": self.tool, "arguments": '{"dish": "soup"}'}}
            await response.write(chunk({"tool_calls": [call]}))
        else:
            await response.write(chunk({"content": "That is all."}))
        await response.write(b"data: [DONE]\n\n")
        return response

    async def hook(self, request: web.Request) -> web.StreamResponse:
        """POST /hook."""
        return await self._fail(request, self.hook_fault)

    async def mcp(self, request: web.Request) -> web.StreamResponse:
        """POST /mcp."""
        return await self._fail(request, self.mcp_fault)


@asynccontextmanager
async def echoing_server() -> AsyncIterator[EchoingServer]:
    """The server on a free port of loopback."""
    server = EchoingServer()
    app = web.Application()
    app.router.add_get("/v1/models", server.models)
    app.router.add_post("/v1/chat/completions", server.complete)
    app.router.add_post("/hook", server.hook)
    app.router.add_route("*", "/mcp", server.mcp)
    async with on_loopback(app) as server.url:
        yield server
