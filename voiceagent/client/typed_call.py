"""A call in which the caller types and the agent's answers come as text, over the WebSocket: nothing is spoken, so an answer
takes as long as its language model. For `voiceagent talk --text`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from types import TracebackType

import aiohttp

from voiceagent.client.signalling import client_secret, open_socket
from voiceagent.client.turns import HeardTurn, TurnReader, error_line
from voiceagent.errors import MediaError
from voiceagent.json_types import JsonObject
from voiceagent.task_owner import TaskOwner
from voiceagent.untrusted_json import read_struct

TEXT_ONLY: JsonObject = {"type": "realtime", "output_modalities": ["text"], "audio": {"input": {"turn_detection": None}}}
"""Settings of the session. With a client secret it has them from the beginning, so that the greeting is text, too."""
HARMLESS = {"response_cancel_not_active"}


class TypedCall:
    """One call. `async with TypedCall(url, token) as call:` connects and hangs up."""

    def __init__(
        self, url: str, token: str | None, *, timeout_s: float, on_text: Callable[[str], None] = lambda text: None
    ) -> None:
        """`timeout_s` is the longest wait for an answer. `on_text` is called with each piece of the agent's text as it comes."""
        self.url = url.rstrip("/")
        self.call_id = self.agent = ""
        self.end_reason = ""
        """The reason why the call is over; empty while it is up."""
        self._token, self._timeout_s, self._on_text = token, timeout_s, on_text
        self._http = aiohttp.ClientSession()
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._reader = TurnReader()
        self._changed = asyncio.Event()
        self._tasks = TaskOwner()
        self._ready_s = 0.0
        """The time from which on the server takes another request."""
        self._has_session = self._greets = False
        self._errors: list[str] = []
        self.first_text_ms: float | None = None
        """From the last message to the first text after it; None before that has come."""
        self._said_s = 0.0

    async def __aenter__(self) -> TypedCall:
        try:
            secret = await client_secret(self.url, self._token, TEXT_ONLY)
            self._socket = await open_socket(self._http, self.url, secret or self._token, "")
            self._tasks.start_alone(self._read(self._socket), "events of a typed call")
            await self._until(lambda: self._has_session, "the session")
            if secret is None:
                await self._send({"type": "session.update", "session": TEXT_ONLY})
        except BaseException:
            await self.hang_up()
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.hang_up()

    @property
    def turns(self) -> list[HeardTurn]:
        """All turns so far, the greeting with them."""
        return self._reader.turns

    async def hang_up(self) -> None:
        """End the call. May be called twice."""
        self._end("hangup")
        await self._tasks.close()
        if self._socket is not None:
            await self._socket.close()
        await self._http.close()

    async def greeting(self) -> HeardTurn | None:
        """Wait for the greeting; None if the agent does not greet. Raises MediaError."""
        if not self._greets:
            return None
        await self._until(lambda: bool(self.turns) and self.turns[0].is_over, "the greeting")
        return self.turns[0]

    async def say(self, text: str) -> HeardTurn:
        """Type a message, and wait for the end of the answer, or of the call. Raises MediaError."""
        if (pause_s := self._ready_s - time.monotonic()) > 0:
            await asyncio.sleep(pause_s)
        before = len(self.turns)
        content = [{"type": "input_text", "text": text}]
        await self._send({"type": "conversation.item.create", "item": {"type": "message", "role": "user", "content": content}})
        await self._send({"type": "response.create"})
        self._errors.clear()
        self.first_text_ms, self._said_s = None, time.monotonic()

        def is_answered() -> bool:
            turns = self.turns[before:]
            return bool(self._errors and not turns) or (any(turn.measured for turn in turns) and not self._reader.is_replying)

        await self._until(is_answered, "an answer", may_end=True)
        answers = self.turns[before:]
        if not answers:
            raise MediaError(
                f"the server reported: {self._errors[0]}" if self._errors else f"the call is over ({self.end_reason})"
            )
        return answers[-1]

    async def wait_ended(self) -> str:
        """Wait for the end of the call; returns the reason."""
        while not self.end_reason:
            self._changed.clear()
            await self._changed.wait()
        return self.end_reason

    async def _send(self, event: JsonObject) -> None:
        if self._socket is not None and not self._socket.closed:
            await self._socket.send_json(event)

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        while (message := await socket.receive()).type is aiohttp.WSMsgType.TEXT:
            try:
                self._take(read_struct(message.data, dict))
            except (ValueError, KeyError, TypeError):
                continue  # no event of a server
            self._changed.set()
        self._end("ended" if message.type is aiohttp.WSMsgType.CLOSE else "lost")

    def _take(self, event: JsonObject) -> None:
        kind = event["type"]
        self._reader.take(event)
        if kind == "session.created":
            about = event["session"]["voiceagent"]
            self.call_id, self.agent, self._greets = (
                str(about["call_id"]),
                str(about.get("agent", "")),
                bool(about.get("greeting")),
            )
            self._has_session = True
        elif kind in ("response.output_text.delta", "response.output_audio_transcript.delta"):
            if self.first_text_ms is None and self._said_s:
                self.first_text_ms = (time.monotonic() - self._said_s) * 1000.0
            self._on_text(str(event["delta"]))
        elif kind == "rate_limits.updated":
            limit = event["rate_limits"][0]
            self._ready_s = time.monotonic() + (limit["reset_seconds"] if limit["remaining"] < 1 else 0.0)
        elif kind == "error" and event["error"].get("code") not in HARMLESS:
            self._errors.append(error_line(event))
        elif kind == "voiceagent.call_ended":
            self._end(str(event["reason"]))

    def _end(self, reason: str) -> None:
        self.end_reason = self.end_reason or reason
        self._changed.set()

    async def _until(self, condition: Callable[[], bool], what: str, *, may_end: bool = False) -> None:
        try:
            async with asyncio.timeout(self._timeout_s):
                while not condition():
                    if self.end_reason and may_end:
                        return
                    if self.end_reason:
                        told = f"; the server reported: {self._errors[-1]}" if self._errors else ""
                        raise MediaError(f"{self.url}: the call ended before {what} ({self.end_reason}){told}")
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError as error:
            raise MediaError(f"waited {self._timeout_s:g} s for {what}") from error
