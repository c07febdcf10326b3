"""A caller who writes: one call over the WebSocket, with answers in text. Nothing is spoken, so a call takes as long as its
language model."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType

import aiohttp

from voiceagent.client.signalling import open_socket
from voiceagent.errors import MediaError
from voiceagent.json_types import JsonObject
from voiceagent.untrusted_json import read_struct

TEXT_ONLY: JsonObject = {
    "type": "session.update",
    "session": {"type": "realtime", "output_modalities": ["text"], "audio": {"input": {"turn_detection": None}}},
}


class TextCaller:
    """One call. `async with TextCaller(url) as caller:` connects and hangs up."""

    def __init__(self, url: str, token: str, timeout_s: float) -> None:
        """`timeout_s` is the longest wait for an answer."""
        self.call_id = ""
        self.turns: list[JsonObject] = []
        """`voiceagent.turn` events: the waits, and what was over budget."""
        self._url, self._token, self._timeout_s = url, token, timeout_s
        self._http = aiohttp.ClientSession()
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self.waits_ms: list[float] = []
        """From each message to the first words of its answer."""
        self._asked_ms: float | None = None
        self._pause_s = 0.0
        """The time until the server takes another request."""
        self.is_over = False

    async def __aenter__(self) -> TextCaller:
        try:
            self._socket = await open_socket(self._http, self._url, self._token or None, "")
            created = await self._next("session.created")
            about = created["session"]["voiceagent"]
            self.call_id = str(about["call_id"])
            await self._send(TEXT_ONLY)
            if about.get("greeting"):
                await self._send({"type": "response.cancel"})
                await self._next("response.done")
        except BaseException:
            await self._http.close()
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.hang_up()

    async def hang_up(self) -> None:
        """End the call. May be called twice."""
        if self._socket is not None:
            await self._socket.close()
        await self._http.close()

    async def say(self, text: str) -> None:
        """Write a message, and wait for the end of the answer, or of the call. Raises MediaError."""
        await asyncio.sleep(self._pause_s)
        content = [{"type": "input_text", "text": text}]
        await self._send({"type": "conversation.item.create", "item": {"type": "message", "role": "user", "content": content}})
        await self._send({"type": "response.create"})
        self._asked_ms = time.monotonic() * 1000.0
        await self._next("voiceagent.turn")

    async def _send(self, event: JsonObject) -> None:
        assert self._socket is not None
        if not self._socket.closed:
            await self._socket.send_json(event)

    async def _next(self, wanted: str) -> JsonObject:
        """The next event of that type; an empty one if the call ends first. Raises MediaError for an error, and after the
        time-out."""
        assert self._socket is not None
        try:
            async with asyncio.timeout(self._timeout_s):
                while (message := await self._socket.receive()).type is aiohttp.WSMsgType.TEXT:
                    event: JsonObject = read_struct(message.data, dict)
                    if event["type"] == "error" and event["error"].get("code") != "response_cancel_not_active":
                        raise MediaError(f"the server reported: {event['error'].get('message')}")
                    if event["type"] == "rate_limits.updated":
                        limit = event["rate_limits"][0]
                        self._pause_s = limit["reset_seconds"] if limit["remaining"] < 1 else 0.0
                    if event["type"] == "response.output_text.delta" and self._asked_ms is not None:
                        self.waits_ms.append(time.monotonic() * 1000.0 - self._asked_ms)
                        self._asked_ms = None
                    if event["type"] == "voiceagent.turn":
                        self.turns.append(event)
                    if event["type"] == wanted:
                        return event
        except TimeoutError as error:
            raise MediaError(f"waited {self._timeout_s:g} s for an answer") from error
        self.is_over = True
        return {}
