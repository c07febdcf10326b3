"""The telephone's routes. A vendor's webhook announces a call. The answer gives the vendor the address to which it streams the
audio, and the call begins with that WebSocket. A webhook opens nothing unless it proves that it comes from its vendor."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace

from aiohttp import WSCloseCode, WSMsgType, hdrs, web

from voiceagent.errors import MediaError
from voiceagent.server.calls.calls import Calls, StartCall
from voiceagent.server.calls.quotas import Client
from voiceagent.server.http.connection import peer_of
from voiceagent.server.http.problems import Problem
from voiceagent.server.http.slowing import Slowing
from voiceagent.task_owner import TaskOwner
from voiceagent.telephone.messages import CallFacts, Started, Stream, Unanswered
from voiceagent.telephone.streams.dialects import text
from voiceagent.telephone.streams.signatures import SignedRequest
from voiceagent.telephone.streams.stream_leg import StreamLeg
from voiceagent.telephone.streams.vendors import TAKEN, Answer, StreamLimits, Telephone, VendorLine
from voiceagent.telephone.streams.webhooks import DIRECTION, AnsweredWebhooks, Tickets, facts_of, fields_of, unsigned_parameters
from voiceagent.telephone.transfer.stream_transfers import StreamEnd, StreamTransfer, StreamTransfers

log = logging.getLogger(__name__)


BEFORE_START = 16
"""The most messages that may come before the call begins."""
MAX_MESSAGE_BYTES = 131_072
MAX_WEBHOOK_BYTES = 16_384
"""Vendors send one or two kilobytes. The signature covers the decoded form, and decoding 128 kB takes 14 ms."""
PING_S = 15.0
STATUS = ("CallStatus", "call_status", "Status", "status")
"""The fields in which vendors tell how a call goes."""
UNTAKEN = {
    **dict.fromkeys(("noanswer", "timeout", "unanswered", "cancel", "canceled", "cancelled"), "no_answer"),
    **dict.fromkeys(("failed", "chanunavail", "congestion"), "call_failed"),
    "busy": "busy",
    "rejected": "declined",
}
"""The reason for each status, by its letters, of a call that nobody took."""
UNREADABLE = "This webhook cannot be read; see docs/telephony.md."
MAX_REASON_BYTES = 120
"""The longest reason of a close frame (RFC 6455 §5.5: 125 bytes with its code)."""

FORGED = (403, "invalid_signature", "No vendor that is configured here has signed this, or its password is wrong.")
"""Status, code and text of an answer. It is the same for vendors that are not configured, so it does not reveal which are."""
REPEATED = (409, "repeated_webhook", "This call was answered before; a webhook may come again only until its stream has come.")
UNKNOWN_STREAM = (403, "unknown_stream", "No webhook told of this stream, or it has come too late or twice.")


class Switchboard:
    """Answers webhooks and carries streams."""

    def __init__(self, telephone: Telephone, calls: Calls, unanswered: Unanswered) -> None:
        """`unanswered` is called for each call that we made and nobody took, if its vendor tells us."""
        self._telephone = telephone
        self._unanswered = unanswered
        self._calls = calls
        self._limits = telephone.limits
        self._tickets = Tickets(self._limits.ticket_s)
        self._transfers = StreamTransfers()
        self._tasks = TaskOwner()
        self._answered = AnsweredWebhooks()
        self._slowing = Slowing(self._limits.refusals)

    async def close(self) -> None:
        """End what still closes."""
        await self._tasks.close()

    async def webhook(self, request: web.Request) -> web.Response:
        """A call has come. Answers where the vendor is to stream its audio. Raises Problem."""
        line, webhook, signed = await self._checked(request)
        facts = self._facts(webhook, line)
        if line.vendor.answer is None:
            raise Problem(400, "no_stream", f"Calls of {line.name} come as a WebSocket; this is an ordinary request.")
        ticket = await self._ticket(request, line, facts, signed)
        return self._stream_here(line, facts, ticket, line.vendor.answer)

    def _stream_here(self, line: VendorLine, facts: CallFacts, ticket: str, answer: Answer) -> web.Response:
        """Have the vendor stream the call's audio to us."""
        after = ""
        if line.vendor.transfer is not None and self._telephone.transfers:
            self._transfers.expect(ticket, line.name, facts, time.monotonic())
            after = f"{self._telephone.url}/telephony/{line.name}/after/{ticket}"
        kind, body = answer(self._telephone.stream_url(f"/telephony/{line.name}/stream/{ticket}"), after)
        return web.Response(text=body, content_type=kind)

    async def after_stream(self, request: web.Request) -> web.Response:
        """A call's stream has ended, or somebody was dialled after it. Answers what comes next. Raises Problem."""
        line, webhook, _ = await self._checked(request)
        answers, answer = line.vendor.transfer, line.vendor.answer
        if answers is None or answer is None:
            raise Problem(404, "no_transfers", f"Calls of {line.name} cannot be transferred.")
        name, now_s, outcome = request.match_info["ticket"], time.monotonic(), _outcome(webhook, answers.outcome)
        found = self._transfers.find(name, line.name, now_s)
        if found is not None and found.target and not outcome and not found.back:
            self._transfers.dialled(name, now_s)
            kind, body = answers.dial(found.target, f"{self._telephone.url}{request.raw_path}")
            return web.Response(text=body, content_type=kind)
        if found is not None and found.target and outcome and outcome not in TAKEN and self._comes_back(found, outcome, now_s):
            return self._stream_here(line, _back(found), found.back, answer)
        self._transfers.forget(name)
        kind, body = answers.hang_up
        return web.Response(text=body, content_type=kind)

    def _comes_back(self, found: StreamEnd, outcome: str, now_s: float) -> bool:
        """Nobody took a call over. Returns True if its stream may come: a vendor that got no answer asks again, and gets the
        same."""
        if not found.back:
            log.warning("a transfer of %s failed (%s); the agent takes the call again", found.vendor, outcome)
            found.back = self._tickets.issue(found.vendor, _back(found), now_s)
        return self._tickets.is_open(found.back, now_s)

    async def status(self, request: web.Request) -> web.Response:
        """A vendor tells how a call goes. One that we made and nobody took is reported, once. Raises Problem."""
        line, webhook, signed = await self._checked(request)
        facts = self._facts(webhook, line)
        reason = next((UNTAKEN[told] for name in STATUS if (told := _letters(_outcome(webhook, name))) in UNTAKEN), "")
        is_ours = facts.outbound or not any(_outcome(webhook, name) for name in DIRECTION)
        if reason and is_ours and not self._answered.ticket(line.name, facts.vendors_id, signed, time.monotonic()):
            self._answered.remember(line.name, facts.vendors_id, signed, reason, time.monotonic())
            self._unanswered(replace(facts, outbound=True), reason)
        return web.Response()

    def is_stream(self, request: web.Request) -> bool:
        """True if a request to a webhook's path is the call's stream itself."""
        line = self._telephone.lines.get(request.match_info["vendor"])
        if line is None or line.vendor.answer is not None:
            return False
        return web.WebSocketResponse(compress=False, protocols=line.vendor.protocols).can_prepare(request).ok

    async def _ticket(self, request: web.Request, line: VendorLine, facts: CallFacts, signed: str) -> str:
        """The ticket of a webhook's call: a new one, or the one that the webhook had before, while that is unused and young.
        Raises Problem for a webhook that comes again later."""
        now_s, call_id = time.monotonic(), facts.vendors_id
        if line.vendor.is_password:  # whoever has captured a webhook has the password, and may make any other
            return self._tickets.issue(line.name, facts, now_s)
        ticket = self._answered.ticket(line.name, call_id, signed, now_s)
        is_copy = line.vendor.signs_nonce and self._answered.was_signed(line.name, signed)
        if ticket and (is_copy or not self._tickets.is_open(ticket, now_s)):
            log.warning("a webhook of %s from %s was refused: its call was answered before", line.name, request.remote)
            raise await self._refusal(request, "repeated", REPEATED)
        ticket = ticket or self._tickets.issue(line.name, facts, now_s)
        self._answered.remember(line.name, call_id, signed, ticket, now_s)
        return ticket

    async def _checked(self, request: web.Request) -> tuple[VendorLine, SignedRequest, str]:
        """Checks a webhook. Returns its vendor, the webhook and its signed part. Raises Problem. The answer does not reveal which
        vendors are configured."""
        body = await request.read()
        if len(body) > MAX_WEBHOOK_BYTES:
            message = f"This webhook's body has {len(body)} bytes; expected at most {MAX_WEBHOOK_BYTES}."
            raise Problem(413, "webhook_too_large", message)
        webhook = SignedRequest(
            request.method,
            f"{self._telephone.url}{request.raw_path}",
            {name.lower(): value for name, value in request.headers.items()},
            body,
            time.time(),
        )
        line = self._telephone.lines.get(request.match_info["vendor"])
        if line is None:
            raise await self._unknown(request, "webhook", FORGED)
        try:
            signed = line.vendor.check(webhook, line.secret)
        except ValueError:
            signed = ""
        if not signed:
            raise await self._forged(line, request)
        return line, webhook, signed

    def _facts(self, webhook: SignedRequest, line: VendorLine) -> CallFacts:
        """The facts of a call in its webhook. Raises Problem."""
        try:
            if left_out := unsigned_parameters(webhook, line.vendor):
                log.warning("%d parameters of a webhook's address were left out: %s does not sign them", left_out, line.name)
            return facts_of(webhook, line.vendor, self._telephone.own_numbers)
        except (MediaError, ValueError) as error:
            raise Problem(400, "invalid_webhook", UNREADABLE) from error

    async def _ticketed(self, request: web.Request) -> tuple[VendorLine, CallFacts]:
        """The vendor of a stream, and the facts from its webhook. Raises Problem."""
        line = self._telephone.lines.get(request.match_info["vendor"])
        if line is None:
            raise await self._unknown(request, "stream", UNKNOWN_STREAM)
        facts = self._tickets.take(request.match_info["ticket"], line.name, time.monotonic())
        if facts is None:
            log.warning("a stream of %s from %s was refused: no webhook told of it", line.name, request.remote)
            raise await self._refusal(request, "unknown_stream", UNKNOWN_STREAM)
        return line, facts

    async def _unknown(self, request: web.Request, what: str, answer: tuple[int, str, str]) -> Problem:
        name, names = request.match_info["vendor"][:40], ", ".join(self._telephone.lines)
        log.warning("a %s of %r from %s was refused: expected one of %s", what, name, request.remote, names)
        return await self._refusal(request, "unknown_vendor", answer)

    async def _forged(self, line: VendorLine, request: web.Request) -> Problem:
        if line.vendor.answer is None:
            log.warning(
                "a stream of %s from %s was refused: its password is missing or wrong; check $%s and websocket_client.conf",
                line.name,
                request.remote,
                line.vendor.secret,
            )
        else:
            log.warning(
                "a webhook of %s from %s was refused: its signature is missing or wrong; check $%s and telephony.url (%s)",
                line.name,
                request.remote,
                line.vendor.secret,
                self._telephone.url,
            )
        return await self._refusal(request, "forged", FORGED)

    async def _refusal(self, request: web.Request, reason: str, answer: tuple[int, str, str]) -> Problem:
        """Count what was refused, and slow its sender. A vendor at the same address is not slowed, because what it signs for the
        first time is not refused."""
        self._calls.metrics.vendors_refused.add(reason)
        if await self._slowing.refused(peer_of((request.remote,))):
            return Problem(*answer)
        pause_s = round(self._limits.refusals.pause_s)
        return Problem(429, "too_many_refused", "Too many webhooks were refused; come back later.", retry_after_s=pause_s)

    async def open_stream(self, request: web.Request, start_call: StartCall, is_open: Callable[[], bool]) -> CallStream:
        """Begin the call of a stream; `run` it then. Raises Problem while it can be answered with one."""
        if "ticket" in request.match_info:
            line, facts = await self._ticketed(request)
        else:
            line, webhook, _ = await self._checked(request)
            facts = self._facts(webhook, line)
        transfer = None
        if line.vendor.transfer is not None and self._telephone.transfers:
            transfer = StreamTransfer(self._transfers, request.match_info["ticket"], self._telephone.transfers)
        stream = CallStream(request, line, facts, transfer, self._tasks, self._limits)
        try:
            await self._calls.begin(stream.make_leg, {}, start_call, Client(f"telephone {line.name}", is_telephone=True), is_open)
        except Problem as problem:
            self._calls.metrics.calls_refused.add(problem.code)
            if not stream.socket.prepared:
                raise
            log.warning("a stream of %s was closed: %s", line.name, problem)
            await stream.refuse(problem)
        return stream


class CallStream:
    """A stream's WebSocket."""

    def __init__(
        self,
        request: web.Request,
        line: VendorLine,
        facts: CallFacts,
        transfer: StreamTransfer | None,
        tasks: TaskOwner,
        limits: StreamLimits,
    ) -> None:
        """`transfer` is there where the call can be transferred. `tasks` end with the server."""
        self.socket = web.WebSocketResponse(
            timeout=limits.close_s,
            heartbeat=PING_S,
            compress=False,
            max_msg_size=MAX_MESSAGE_BYTES,
            protocols=line.vendor.protocols,
        )
        self._request = request
        self._line = line
        self._facts = facts
        self._transfer = transfer
        self._tasks = tasks
        self._limits = limits
        self._leg: StreamLeg | None = None

    async def make_leg(self) -> StreamLeg:
        """Take the WebSocket, and make a leg of it once the vendor has said that the call begins. Raises Problem."""
        await self.socket.prepare(self._request)
        stream = self._line.vendor.new_stream()
        try:
            async with asyncio.timeout(self._limits.start_s):
                started = await self._started(stream)
        except MediaError as error:
            raise Problem(400, "invalid_stream", f"{error}.") from error
        except TimeoutError as error:
            raise Problem(408, "stream_timeout", f"The call did not begin within {self._limits.start_s:.0f} s.") from error
        facts = self._facts.beside(started.facts)
        begun, chunk_frames = Started(started.format, facts), self._line.vendor.chunk_frames
        self._leg = StreamLeg(self, stream, begun, chunk_frames=chunk_frames, transfer=self._transfer, limits=self._limits)
        if self._transfer is not None:
            self._transfer.began()
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
        """Hand on what comes, until the WebSocket is closed. Returns at once if the call was refused."""
        if self._leg is None:
            return
        is_closed = False
        try:
            while (message := await self.socket.receive()).type in (WSMsgType.TEXT, WSMsgType.BINARY):
                self._leg.receive(message.data)
            is_closed = message.type in (WSMsgType.CLOSE, WSMsgType.CLOSING)
        finally:
            self._leg.gone(is_closed=is_closed)
            if self._transfer is not None:
                self._transfer.ended()

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
        """Close in a task of its own. aiohttp waits without a limit until the peer has read everything. It waits on a future that
        a cancelled send has already cancelled for every waiter."""
        transport, close_s = self._request.transport, self._limits.close_s
        closing = self._tasks.start(self._closed(code, reason), "close of a telephone stream")
        try:
            await asyncio.wait((closing,), timeout=2 * close_s)
        finally:
            if transport is not None:
                asyncio.get_running_loop().call_later(close_s if closing.done() else 0.0, transport.abort)

    async def _closed(self, code: int, reason: bytes) -> None:
        await self.socket.close(code=code, message=reason)


def _outcome(webhook: SignedRequest, field: str) -> str:
    """The outcome of dialling; empty where it is not given. Raises Problem."""
    try:
        return text(fields_of(webhook).get(field)).lower()
    except (MediaError, ValueError) as error:
        raise Problem(400, "invalid_webhook", UNREADABLE) from error


def _letters(told: str) -> str:
    """The status without its separators, as vendors write it differently."""
    return "".join(letter for letter in told if letter.isalpha())


def _back(found: StreamEnd) -> CallFacts:
    """The known facts of a call that comes back."""
    return replace(found.facts, comes_back=True)


WEBHOOK_METHODS = (hdrs.METH_GET, hdrs.METH_POST)
