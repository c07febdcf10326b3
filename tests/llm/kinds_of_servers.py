"""Small servers on loopback that answer as the documents of Ollama, vLLM and others say (docs.ollama.com, "OpenAI compatibility",
"Get version", "List running models"; docs.vllm.ai, "OpenAI-Compatible Server", "Tool Calling")."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.llm.faulty_server import chunk
from tests.loopback import on_loopback

NO_TOOL_PARSER = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
NO_TOOLS = "registry.ollama.ai/library/gemma2:2b does not support tools"


@dataclass
class KnownServer:
    """A server of one kind."""

    models: dict[str, dict[str, Any]]
    """By their names, with what else is listed of each."""
    pages: dict[str, Any] = field(default_factory=dict)
    """Its other answers, by their paths."""
    key: str = ""
    refuses_tools: str = ""
    """The words with which it refuses tools."""
    writes_words: bool = False
    """True: the model answers in words where a tool is offered."""
    gives_chances: bool = True
    in_schema: str = '{"answer": "yes"}'
    """Its answer where a schema is asked for."""
    streams: bool = True
    is_silent: bool = False
    base: str = "/v1"
    """The path of its API."""

    async def list(self, request: web.Request) -> web.Response:
        if self.key and request.headers.get("Authorization") != f"Bearer {self.key}":
            return web.json_response({"error": {"message": "Unauthorized"}}, status=401)
        data = [{"id": name, "object": "model", "created": 0, **more} for name, more in self.models.items()]
        return web.json_response({"object": "list", "data": data})

    async def complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if self.is_silent:
            await asyncio.Event().wait()
        if body.get("tools") and self.refuses_tools:
            error = {"message": self.refuses_tools, "type": "BadRequestError", "param": None, "code": 400}
            return web.json_response({"error": error}, status=400)
        if not body.get("stream") or not self.streams:
            words = self.in_schema if body.get("response_format") else "Yes, it is."
            return web.json_response({"choices": [{"index": 0, "message": {"role": "assistant", "content": words}}]})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        if body.get("tools") and not self.writes_words:
            call = {"index": 0, "id": "c", "type": "function", "function": {"name": "order_status", "arguments": "{}"}}
            await response.write(chunk({"role": "assistant", "tool_calls": [call]}))
        else:
            for word in ("Yes", "."):
                event = json.loads(chunk({"content": word}).removeprefix(b"data: "))
                if body.get("logprobs") and self.gives_chances:
                    event["choices"][0]["logprobs"] = {"content": [{"token": word, "logprob": -0.1, "top_logprobs": []}]}
                await response.write(f"data: {json.dumps(event)}\n\n".encode())
        await response.write(b"data: [DONE]\n\n")
        return response


def ollama(**more: Any) -> KnownServer:
    """Ollama 0.12 with one model, for which it has made room for 4096 tokens."""
    running = {"models": [{"name": "qwen3:8b", "model": "qwen3:8b", "context_length": 4096}]}
    pages = {"/api/version": {"version": "0.12.6"}, "/api/ps": running, "/": "Ollama is running"}
    return KnownServer({"qwen3:8b": {"owned_by": "library"}}, pages, **{"gives_chances": False, **more})


def vllm(**more: Any) -> KnownServer:
    """vLLM with one model."""
    return KnownServer(
        {"Qwen/Qwen3-8B": {"owned_by": "vllm", "max_model_len": 8192}}, {"/version": {"version": "0.32.0"}}, **more
    )


@asynccontextmanager
async def serving(server: KnownServer) -> AsyncIterator[str]:
    """Serve it on a free port of loopback; its address, without the path of its API."""
    app = web.Application()
    app.router.add_get(f"{server.base}/models", server.list)
    app.router.add_post(f"{server.base}/chat/completions", server.complete)
    for path, answer in server.pages.items():

        async def page(_: web.Request, answer: Any = answer) -> web.Response:
            return web.Response(text=answer, content_type="text/html") if isinstance(answer, str) else web.json_response(answer)

        app.router.add_get(path, page)
    async with on_loopback(app) as url:
        yield url
