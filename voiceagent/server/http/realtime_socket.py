"""The WebSocket `/v1/realtime`: a call whose events and audio are text messages, or a second client of a running call."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from aiohttp import WSCloseCode, WSMessage, WSMsgType, web

from voiceagent.media.outgoing_events import READER, ReaderLimits
from voiceagent.media.websocket.sideband import WebSocketSideband
from voiceagent.media.websocket.websocket_leg import WebSocketLeg
from voiceagent.realtime.dialect import MAX_AUDIO_EVENT_CHARACTERS
from voiceagent.realtime.openai_realtime import appended_audio
from voiceagent.realtime.openai_session import MAX_NAME_CHARACTERS
from voiceagent.server.calls.calls import JoinableCall
from voiceagent.server.http.auth import SUBPROTOCOL
from voiceagent.server.http.problems import Problem
from voiceagent.task_owner import TaskOwner, running

log = logging.getLogger(__name__)

TRANSCRIPTION = "transcription"
"""The intent of a client, and the type of its session, that wants only the texts of the caller's speech."""
CLOSE_S = 2.0
"""The longest wait for a client's answer to our close. A client that reads nothing is cut off after twice that time."""
ORDERLY = (WSCloseCode.OK, WSCloseCode.GOING_AWAY, 0)
"""The codes with which a client hangs up; 0 stands for none. After any other end it may come back."""
EXTRAS = "voiceagent_events"
"""The part of the address that asks for our own events. Clients of others may take an event that they do not know for a fault."""
MAX_REASON_BYTES = 120
"""The longest reason of a close frame (RFC 6455 §5.5: 125 bytes with its code)."""


@dataclass(frozen=True, slots=True)
class SocketLimits:
    """The limits of a client's WebSocket."""

    ping_s: float = 30.0
    """A client that has sent nothing for so long is asked for a sign of life. It is lost if none comes in half that time."""
    answer_s: float = 5.0
    """The longest wait for a sign of life of a client that takes a call up again."""
    reader: ReaderLimits = READER


SOCKET_LIMITS = SocketLimits()


def check_upgrade(request: web.Request) -> None:
    """Raises Problem for a request that is no WebSocket, or that names a model that cannot be."""
    if not web.WebSocketResponse(compress=False, protocols=(SUBPROTOCOL,)).can_prepare(request).ok:
        raise Problem(
            426,
            "websocket_required",
            "This is the address of a WebSocket; connect with ws:// or wss://, or send an SDP offer to /v1/realtime/calls.",
        )
    if request.query.get("intent", "") not in ("", TRANSCRIPTION):
        raise Problem(400, "invalid_session", "intent must be transcription, or be left out.", param="intent")
    if request.query.get(EXTRAS, "false") not in ("true", "false"):
        raise Problem(400, "invalid_session", f"{EXTRAS} must be true or false, or be left out.", param=EXTRAS)
    if len(request.query.get("model", "")) > MAX_NAME_CHARACTERS:
        raise Problem(400, "invalid_session", f"model must have at most {MAX_NAME_CHARACTERS} characters.", param="model")


class RealtimeSocket:
    """One WebSocket of a client. Implements `TextWire`."""

    def __init__(self, request: web.Request, tasks: TaskOwner, limits: SocketLimits) -> None:
        """`tasks` end with the server."""
        self.socket = web.WebSocketResponse(
            timeout=CLOSE_S,
            heartbeat=limits.ping_s,
            compress=False,
            autoping=False,
            max_msg_size=2 * MAX_AUDIO_EVENT_CHARACTERS,
            protocols=(SUBPROTOCOL,),
        )
        self._request = request
        self._tasks = tasks
        self._reader = limits.reader
        self._answer_s = limits.answer_s
        self._answered = asyncio.Event()
        self.leg: WebSocketLeg | None = None

    @property
    def _has_extras(self) -> bool:
        return self._request.query.get(EXTRAS) == "true"

    @property
    def asked(self) -> dict[str, object]:
        """The session settings that the address names."""
        if self._request.query.get("intent") == TRANSCRIPTION:
            return {"type": TRANSCRIPTION}
        model = self._request.query.get("model", "")
        return {"model": model} if model else {}

    async def make_leg(self) -> WebSocketLeg:
        """Take the WebSocket, and make a leg of it."""
        await self.socket.prepare(self._request)
        self.leg = WebSocketLeg(self, appended_audio, extras=self._has_extras, limits=self._reader)
        return self.leg

    async def make_returning_leg(self) -> WebSocketLeg:
        """Take the WebSocket of a client that takes its call up again, and make a leg of it. It is connected once the client has
        answered: one that gave up meanwhile, or that the network lost, must not use up the token."""
        await self.socket.prepare(self._request)
        self.leg = WebSocketLeg(self, appended_audio, extras=self._has_extras, limits=self._reader, proof=self._await_answer)
        return self.leg

    async def _await_answer(self) -> bool:
        try:
            async with asyncio.timeout(self._answer_s):
                await self.socket.ping()
                await self._answered.wait()
        except (TimeoutError, ConnectionError):
            return False
        return True

    async def _receive(self) -> WSMessage:
        """The next message that is no ping and no answer to one."""
        while True:
            message = await self.socket.receive()
            if message.type is WSMsgType.PING:
                await self.socket.pong(message.data)
            elif message.type is WSMsgType.PONG:
                self._answered.set()
            else:
                return message

    async def carry(self) -> None:
        """Hand on what comes to the leg, until the WebSocket is closed."""
        leg, is_closed = self.leg, False
        if leg is None:
            return
        try:
            while (message := await self._receive()).type is WSMsgType.TEXT:
                await leg.receive(message.data)
            if message.type is WSMsgType.BINARY:
                await self.close(WSCloseCode.UNSUPPORTED_DATA, "send events as text")
            is_closed = message.type is WSMsgType.BINARY or (message.type is WSMsgType.CLOSE and message.data in ORDERLY)
        finally:
            leg.gone(is_closed=is_closed)
            self._answered.set()

    async def attend(self, call: JoinableCall) -> bool:
        """Be a sideband of a running call, until the WebSocket is closed or the call ends. Returns False if the client did not
        read its events in time."""
        await self.socket.prepare(self._request)
        sideband = WebSocketSideband(self, extras=self._has_extras, limits=self._reader)
        async with running(self._listen(sideband), "sideband"):
            try:
                await call.join(sideband)
            finally:
                await sideband.close()
        return not sideband.was_too_slow

    async def _listen(self, sideband: WebSocketSideband) -> None:
        try:
            while (message := await self._receive()).type is WSMsgType.TEXT and sideband.is_open:
                sideband.receive(message.data)
        finally:
            sideband.gone()

    async def send(self, message: str) -> None:
        """Send one message. Raises ConnectionError when the WebSocket is closed."""
        if self.socket.closed:
            raise ConnectionResetError("the WebSocket is closed")
        await self.socket.send_str(message)

    async def refuse(self, problem: Problem) -> None:
        """Say why, and close."""
        await self.close(1008 if problem.status < 500 else 1013, str(problem))

    async def close(self, code: int, reason: str) -> None:
        """Close in a task of its own, because aiohttp waits without a limit until the client has read everything. May be called
        twice."""
        if not self.socket.prepared:
            return
        said = reason.encode()[:MAX_REASON_BYTES].decode(errors="ignore").encode()
        closing = self._tasks.start(self._closed(code, said), "close of a WebSocket")
        try:
            await asyncio.wait((closing,), timeout=2 * CLOSE_S)
        finally:
            asyncio.get_running_loop().call_later(CLOSE_S if closing.done() else 0.0, self._cut)

    def _cut(self) -> None:
        if self._request.transport is not None:  # None: it has closed by itself
            self._request.transport.abort()

    async def _closed(self, code: int, reason: bytes) -> None:
        await self.socket.close(code=code, message=reason)
