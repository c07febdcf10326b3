"""The embedded language model behind an OpenAI-compatible address on loopback: `python -m bench.llm_server`. Chat completion
requests come in, text and tool calls stream out as server-sent events, so that voiceagent and its peers can be measured on one
language model. A client that goes away stops its generation."""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, TextIO

import msgspec
from aiohttp import web

from voiceagent.conversation.history import Message, Role, ToolCall
from voiceagent.errors import EngineError, ProtocolError
from voiceagent.llm.embedded.embedded import EmbeddedEngine
from voiceagent.llm.embedded.worker import EmbeddedOptions
from voiceagent.llm.engine import Generated, GeneratedText, LlmEngine, LlmSession
from voiceagent.models.registry import profile, resolve

MODEL = "micro-lm"
SLOTS = 8
"""Conversations whose cache is kept, and requests served at a time."""
MAX_WAITING = 64
ROLES: dict[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool"}


class Slots:
    """The engine's sessions, found again by what they have read. The API knows no conversations: a request gets the free session
    whose last messages begin most like its own."""

    def __init__(self, engine: LlmEngine, count: int = SLOTS) -> None:
        self._free: OrderedDict[LlmSession, tuple[Message, ...]] = OrderedDict(
            (engine.open(f"slot {index}"), ()) for index in range(count)
        )
        self._room = asyncio.Semaphore(count)
        self._waiting = 0

    @asynccontextmanager
    async def slot(self, messages: Sequence[Message]) -> AsyncIterator[LlmSession]:
        """A session for one request, alone. Raises EngineError when `MAX_WAITING` requests wait already."""
        if self._waiting >= MAX_WAITING:
            raise EngineError(f"the language model is overloaded: {MAX_WAITING} requests wait; ask fewer at a time")
        self._waiting += 1
        try:
            await self._room.acquire()
        finally:
            self._waiting -= 1
        session = max(self._free, key=lambda free: _common(self._free[free], messages))  # the longest unused of equals
        del self._free[session]
        try:
            yield session
        finally:
            self._free[session] = tuple(messages)
            self._room.release()


def _common(held: Sequence[Message], wanted: Sequence[Message]) -> int:
    for count, (one, other) in enumerate(zip(held, wanted, strict=False)):
        if one != other:
            return count
    return min(len(held), len(wanted))


def read_messages(data: Any) -> list[Message]:
    """The messages of a request. Raises ProtocolError naming the one that cannot be read."""
    if not isinstance(data, list) or not data:
        raise ProtocolError("messages: expected a list that is not empty")
    return [_message(index, item) for index, item in enumerate(data)]


def _message(index: int, item: Any) -> Message:
    try:
        calls = tuple(
            ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in item.get("tool_calls") or ()
        )
        return Message(ROLES[item["role"]], _text(item.get("content")), calls, item.get("tool_call_id") or "")
    except (KeyError, TypeError, AttributeError) as error:
        raise ProtocolError(f"messages[{index}]: {item!r:.200} is no chat message; expected role and content") from error


def _text(content: Any) -> str:
    """Content as text; of parts, the text ones."""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part["type"] == "text")
    return str(content or "")


class LlmServer:
    """One engine, one address. `log` gets a JSON line a request: the caller's last words, and whether the answer was finished."""

    def __init__(self, engine: EmbeddedEngine, log: TextIO | None = None) -> None:
        self.app = web.Application()
        self.app.router.add_get("/v1/models", self._models)
        self.app.router.add_post("/v1/chat/completions", self._complete)
        self._slots = Slots(engine)
        self._log = log

    async def _models(self, _: web.Request) -> web.Response:
        model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "voiceagent"}
        return web.json_response({"object": "list", "data": [model]})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        """Streams only. The engine's own limit holds in place of `max_tokens`, but for 1, which is how clients have a prompt read
        ahead of its end; temperature and usage are left out of account."""
        try:
            body = await request.json()
            messages = read_messages(body.get("messages"))
            if not body.get("stream"):
                raise ProtocolError("stream: expected true; this server does nothing else")
        except (ValueError, AttributeError, ProtocolError) as error:
            return _problem(400, str(error))
        read_only = 1 in (body.get("max_tokens"), body.get("max_completion_tokens"))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        outcome = "cancelled"
        try:
            async with self._slots.slot(messages) as slot:
                await response.prepare(request)
                tools = body.get("tools") or []
                if read_only:
                    await slot.prefill(messages, tools)
                    await response.write(_chunk({"role": "assistant", "content": ""}, "length"))
                else:
                    async with aclosing(slot.generate(messages, tools)) as stream:
                        await _stream(response, stream)
            await response.write(b"data: [DONE]\n\n")
            outcome = "read ahead" if read_only else "finished"
        except EngineError as error:
            outcome = "failed"
            if not response.prepared:
                return _problem(503, str(error))
            await response.write(_event({"error": {"message": str(error), "type": "server_error"}}))
        finally:
            self._note(messages, outcome)
        return response

    def _note(self, messages: Sequence[Message], outcome: str) -> None:
        if self._log is not None:
            words = next((message.content for message in reversed(messages) if message.role == "user"), "")
            print(json.dumps({"user": words, "outcome": outcome}), file=self._log, flush=True)


async def _stream(response: web.StreamResponse, pieces: AsyncIterator[Generated]) -> None:
    calls = 0
    async for piece in pieces:
        if isinstance(piece, GeneratedText):
            await response.write(_chunk({"content": piece.text}))
            continue
        if not isinstance(piece, ToolCall):
            continue
        function = {"name": piece.name, "arguments": piece.arguments}
        await response.write(
            _chunk({"tool_calls": [{"index": calls, "id": piece.call_id, "type": "function", "function": function}]})
        )
        calls += 1
    await response.write(_chunk({}, "tool_calls" if calls else "stop"))


def _chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    return _event(
        {
            "id": "chatcmpl",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": MODEL,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        }
    )


def _event(data: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()


def _problem(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"message": message, "type": "invalid_request_error"}}, status=status)


def load(profile_name: str) -> EmbeddedEngine:
    """The language model of a profile that runs it in its own process, with that profile's options."""
    spec = profile(profile_name).llm.with_options({"max_sessions": SLOTS})
    return EmbeddedEngine(resolve(spec.model), msgspec.convert(spec.options, EmbeddedOptions))


@asynccontextmanager
async def listening(log: TextIO | None = None, port: int = 0, profile_name: str = "embedded") -> AsyncIterator[str]:
    """Load a profile's model and serve it on loopback; the base URL to give to clients. Port 0 takes a free one."""
    engine = await asyncio.to_thread(load, profile_name)
    runner = web.AppRunner(LlmServer(engine, log).app, handler_cancellation=True, shutdown_timeout=0.5, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()
        await engine.close()


async def _serve(options: argparse.Namespace) -> None:
    log: Path | None = options.log
    with log.open("a", encoding="utf-8") if log else open("/dev/null", "w", encoding="utf-8") as file:  # noqa: ASYNC230
        async with listening(file, options.port, options.profile) as url:
            print(f"answers at {url}", flush=True)
            await asyncio.Event().wait()


def main() -> None:
    """Serve until ended."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.llm_server", description="A profile's embedded language model, OpenAI-compatible."
    )
    parser.add_argument("--profile", default="embedded", help="whose language model (default: embedded)")
    parser.add_argument("--port", type=int, default=0, help="port on loopback (default: a free one)")
    parser.add_argument("--log", type=Path, help="file that gets a JSON line a request")
    asyncio.run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
