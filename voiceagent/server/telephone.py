"""The telephone's routes. A vendor's webhook tells of a call, and is answered with where to stream its audio: there the call
begins, by WebSocket. What a webhook does not prove to come from its vendor opens nothing."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from aiohttp import WSCloseCode, WSMsgType, hdrs, web

from voiceagent.errors import MediaError
from voiceagent.media.stream_leg import StreamLeg
from voiceagent.server.calls import Calls, StartCall
from voiceagent.server.clients import Client
from voiceagent.server.problems import Problem
from voiceagent.telephony.messages import CallFacts, Started
from voiceagent.telephony.settings import Line, Telephone
from voiceagent.telephony.signatures import Webhook
from voiceagent.telephony.tickets import Tickets
from voiceagent.telephony.vendors import Stream
from voiceagent.telephony.webhook import facts_of

log = logging.getLogger(__name__)

START_TIMEOUT_S = 10.0
"""A stream whose call does not begin by then is closed."""
BEFORE_START = 16
"""Messages that may come before."""
MAX_MESSAGE_BYTES = 131_072
MAX_WEBHOOK_BYTES = 16_384
"""Vendors send one or two kilobytes. A form is decoded before its signature can be checked, which takes 14 ms for 128 kB."""
PING_S = 15.0
CLOSE_S = 2.0
"""Until a vendor has answered our close; one that reads nothing is cut off after twice that."""
MAX_REASON_BYTES = 120
"""Of a close frame (RFC 6455 §5.5: 125 with its code)."""


class Switchboard:
    """Answers webhooks and carries streams."""

    def __init__(self, telephone: Telephone, calls: Calls) -> None:
        self._telephone = telephone
        self._calls = calls
        self._tickets = Tickets()

    async def webhook(self, request: web.Request) -> web.Response:
        """A call has come: where its audio is to be streamed. Raises Problem."""
        line = self._line(request)
        facts = await self._facts(request, line)
        if line.vendor.answer is None:
            raise Problem(400, "no_stream", f"Calls of {line.name} come as a WebSocket; this is an ordinary request.")
        ticket = self._tickets.issue(line.name, facts, time.monotonic())
        kind, answer = line.vendor.answer(self._telephone.stream_url(f"/telephony/{line.name}/stream/{ticket}"))
        return web.Response(text=answer, content_type=kind)

    def is_stream(self, request: web.Request) -> bool:
        """Whether a request to a webhook's path is the call's stream itself."""
        line = self._telephone.lines.get(request.match_info["vendor"])
        if line is None or line.vendor.answer is not None:
            return False
        return web.WebSocketResponse(compress=False, protocols=line.vendor.protocols).can_prepare(request).ok

    async def _facts(self, request: web.Request, line: Line) -> CallFacts:
        body = await request.read()
        if len(body) > MAX_WEBHOOK_BYTES:
            message = f"This webhook's body has {len(body)} bytes; expected at most {MAX_WEBHOOK_BYTES}."
            raise Problem(413, "webhook_too_large", message)
        webhook = Webhook(
            request.method,
            f"{self._telephone.url}{request.raw_path}",
            {name.lower(): value for name, value in request.headers.items()},
            body,
            time.time(),
        )
        try:
            if not line.vendor.check(webhook, line.secret):
                raise self._forged(line, request)
            return facts_of(webhook, line.vendor)
        except (MediaError, ValueError) as error:
            raise Problem(400, "invalid_webhook", "This webhook cannot be read; see docs/telephony.md.") from error

    def _ticketed(self, request: web.Request, line: Line) -> CallFacts:
        facts = self._tickets.take(request.match_info.get("ticket", ""), line.name, time.monotonic())
        if facts is None:
            log.warning("a stream of %s from %s was refused: no webhook told of it", line.name, request.remote)
            raise Problem(403, "unknown_stream", "No webhook told of this stream, or it has come too late or twice.")
        return facts

    def _line(self, request: web.Request) -> Line:
        line = self._telephone.lines.get(request.match_info["vendor"])
        if line is None:
            name, names = request.match_info["vendor"][:40], ", ".join(self._telephone.lines)
            raise Problem(404, "unknown_vendor", f"No calls are taken from {name!r}, only from {names}.")
        return line

    def _forged(self, line: Line, request: web.Request) -> Problem:
        if line.vendor.answer is None:
            log.warning(
                "a stream of %s from %s was refused: its password is missing or wrong; check $%s and websocket_client.conf",
                line.name,
                request.remote,
                line.vendor.secret,
            )
            return Problem(403, "wrong_password", "The password of this stream is missing or wrong.")
        log.warning(
            "a webhook of %s from %s was refused: its signature is missing or wrong; check $%s and telephony.url (%s)",
            line.name,
            request.remote,
            line.vendor.secret,
            self._telephone.url,
        )
        return Problem(403, "invalid_signature", "The signature of this webhook is missing or wrong.")

    async def open_stream(self, request: web.Request, start_call: StartCall, is_open: Callable[[], bool]) -> CallStream:
        """Begin the call of a stream; `run` it then. Raises Problem while it can be answered with one."""
        line = self._line(request)
        is_direct = line.vendor.answer is None and "ticket" not in request.match_info
        facts = await self._facts(request, line) if is_direct else self._ticketed(request, line)
        stream = CallStream(request, line, facts)
        try:
            await self._calls.begin(stream.make_leg, {}, start_call, Client(f"telephone {line.name}"), is_open)
        except Problem as problem:
            self._calls.metrics.call_refused(problem.code)
            if not stream.socket.prepared:
                raise
            log.warning("a stream of %s was closed: %s", line.name, problem)
            await stream.refuse(problem)
        return stream


class CallStream:
    """A stream's WebSocket."""

    def __init__(self, request: web.Request, line: Line, facts: CallFacts) -> None:
        self.socket = web.WebSocketResponse(
            timeout=CLOSE_S,
            heartbeat=PING_S,
            compress=False,
            max_msg_size=MAX_MESSAGE_BYTES,
            protocols=line.vendor.protocols,
        )
        self._request = request
        self._line = line
        self._facts = facts
        self._leg: StreamLeg | None = None

    async def make_leg(self) -> StreamLeg:
        """Take the WebSocket, and make a leg of it once the vendor has said that the call begins. Raises Problem."""
        await self.socket.prepare(self._request)
        stream = self._line.vendor.new_stream()
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                started = await self._started(stream)
        except MediaError as error:
            raise Problem(400, "invalid_stream", f"{error}.") from error
        except TimeoutError as error:
            raise Problem(408, "stream_timeout", f"The call did not begin within {START_TIMEOUT_S:.0f} s.") from error
        facts = self._facts.beside(started.facts)
        self._leg = StreamLeg(self, stream, Started(started.format, facts), chunk_frames=self._line.vendor.chunk_frames)
        return self._leg

    async def _started(self, stream: Stream) -> Started:
        for _ in range(BEFORE_START):
            message = await self.socket.receive()
            if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                raise MediaError("the stream was closed before its call began")
            said = stream.read(message.data)
            if isinstance(said, Started):
                return said
        raise MediaError(f"{BEFORE_START} messages came and the call did not begin; expected a start message")

    async def run(self) -> None:
        """Hand on what comes until the WebSocket is closed; at once where the call was refused."""
        if self._leg is None:
            return
        try:
            async for message in self.socket:
                if message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                    self._leg.receive(message.data)
        finally:
            self._leg.gone()

    async def refuse(self, problem: Problem) -> None:
        """Say why, and close."""
        reason = str(problem).encode()[:MAX_REASON_BYTES].decode(errors="ignore").encode()
        await self._close(1008 if problem.status < 500 else 1013, reason)

    async def send(self, message: str | bytes) -> None:
        """Send one message. Raises ConnectionError when the WebSocket is closed."""
        if self.socket.closed:
            raise ConnectionResetError("the stream is closed")
        if isinstance(message, str):
            await self.socket.send_str(message)
        else:
            await self.socket.send_bytes(message)

    async def close(self) -> None:
        """Close the WebSocket. May be called twice."""
        await self._close(WSCloseCode.OK)

    async def _close(self, code: int, reason: bytes = b"") -> None:
        """aiohttp waits until what was sent is read, however long that takes, in a future that a send which was given up has
        cancelled for all: so it closes in a task of its own."""
        transport = self._request.transport
        closing = asyncio.create_task(self.socket.close(code=code, message=reason), name="close of a telephone stream")
        try:
            await asyncio.wait((closing,), timeout=2 * CLOSE_S)
        finally:
            if transport is not None:
                asyncio.get_running_loop().call_later(CLOSE_S if closing.done() else 0.0, transport.abort)


WEBHOOK_METHODS = (hdrs.METH_GET, hdrs.METH_POST)
