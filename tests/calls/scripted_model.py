"""A language model server that answers by a script, over real HTTP, and an agent that uses it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.llm.faulty_server import chunk
from tests.loopback import on_loopback
from tests.server_process import ServerProcess, running_server

Message = dict[str, Any]
Answer = Callable[[list[Message]], str | tuple[str, str] | list[tuple[str, str]]]
"""What it answers to a prompt: words, or the name and the arguments of a tool, or of several."""
NO_TOOLS = (
    "from voiceagent.tools import tool\n\n\n@tool(effect='none')\ndef nothing() -> str:\n    '''Nothing.'''\n    return ''\n"
)
"""The tools of an agent that has none to speak of."""


class ScriptedModel:
    """Remembers what it was asked."""

    def __init__(self, answer: Answer) -> None:
        self.prompts: list[list[Message]] = []
        self._answer = answer

    async def models(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "m", "object": "model", "created": 0, "owned_by": "test"}]})

    async def complete(self, request: web.Request) -> web.StreamResponse:
        messages = (await request.json())["messages"]
        self.prompts.append(messages)
        answer = self._answer(messages)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        if isinstance(answer, str):
            await response.write(chunk({"content": answer}))
        else:
            for index, (name, arguments) in enumerate(answer if isinstance(answer, list) else [answer]):
                call = {"index": index, "id": f"c{len(self.prompts)}_{index}", "function": {"name": name, "arguments": arguments}}
                await response.write(chunk({"tool_calls": [call]}))
        await response.write(b"data: [DONE]\n\n")
        return response


@asynccontextmanager
async def agent_on(
    folder: Path,
    answer: Answer,
    tools: str,
    settings: str = "",
    *options: str,
    environment: Mapping[str, str] | None = None,
    exit_code: int = 0,
) -> AsyncIterator[ServerProcess]:
    """A server, started with these options and variables, whose agent has these `tools` (Python) and answers by the script."""
    model = ScriptedModel(answer)
    app = web.Application()
    app.router.add_get("/v1/models", model.models)
    app.router.add_post("/v1/chat/completions", model.complete)
    async with on_loopback(app) as url:
        (folder / "own_tools.py").write_text(tools)
        (folder / "agent.yaml").write_text(f"tools: [own_tools.py]\nllm: {{base_url: '{url}/v1', model: m}}\n{settings}")
        options = ("--config", str(folder / "agent.yaml"), "--event-logs", "9", *options)
        starting = running_server(folder, *options, environment=environment, exit_code=exit_code)
        with ExitStack() as stack:  # in a thread, because the model answers from this loop while the server starts
            yield await asyncio.to_thread(stack.enter_context, starting)
