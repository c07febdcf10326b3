"""One HTTP connection, with a limit on every wait for its client: for the head of a request, for its body, for the answer to be
read, for the next request. aiohttp waits for minutes at each of these, and holds a descriptor meanwhile."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from aiohttp import StreamReader, web
from aiohttp.http_exceptions import BadHttpMessage, LineTooLong

from voiceagent.server.http.problems import Problem

MAX_HEAD_BYTES = 16_384
"""Request line and headers together; browsers send no more cookies and tokens to one site."""
MAX_LINE_BYTES = 8_190
MAX_HEADERS = 64
MAX_REST_BYTES = 262_144
"""The most bytes of a refused body that are still read and thrown away, so that a client that sends first and reads then sees the
answer."""
REST_S = 2.0
"""The most seconds that this may take (aiohttp's lingering)."""

AIOHTTP_OPTIONS: dict[str, object] = {
    "auto_decompress": False,
    "lingering_time": REST_S,
    "max_line_size": MAX_LINE_BYTES,
    "max_field_size": MAX_LINE_BYTES,
    "max_headers": MAX_HEADERS,
}
"""aiohttp's own limits. Nothing is ever decompressed, not even data that is only thrown away."""


class ConnectionPhase(Enum):
    """The phase of a connection, by what it waits for. The value is the reason that is counted when the wait was too long."""

    HEAD = "slow_head"
    BODY = "slow_body"
    REST = "slow_rest"
    """The rest of a body whose request was answered before it was read."""
    HANDLER = "handler"
    """The connection waits for us."""
    READER = "slow_reader"
    IDLE = "idle"


@dataclass(frozen=True, slots=True)
class Patience:
    """The longest that a client may take, in seconds."""

    head_s: float = 5.0
    body_s: float = 10.0
    """An offer has a few kilobytes: any line that can carry speech sends it within a second."""
    rest_s: float = 2 * REST_S
    reader_s: float = 10.0
    idle_s: float = 15.0
    """A proxy in front must close an idle connection before that, or it sends a request into a closed one."""

    def of(self, phase: ConnectionPhase) -> float | None:
        """The limit of a phase; None: no limit here."""
        return {
            ConnectionPhase.HEAD: self.head_s,
            ConnectionPhase.BODY: self.body_s,
            ConnectionPhase.REST: self.rest_s,
            ConnectionPhase.READER: self.reader_s,
            ConnectionPhase.IDLE: self.idle_s,
        }.get(phase)


class Owner(Protocol):
    """The owner that counts the connections."""

    def admit(self, connection: HttpConnection) -> bool:
        """A client has come; returns False when there is no room."""
        ...

    def forget(self, connection: HttpConnection, reason: str = "") -> None:
        """The client has gone, or was disconnected for the given reason."""
        ...


class HttpConnection(web.RequestHandler):
    """aiohttp's connection, with what it waits for and since when. Call `request_begins` when a handler begins."""

    # `options` are aiohttp's own, which it checks itself
    def __init__(self, server: web.Server, owner: Owner, loop: asyncio.AbstractEventLoop, **options: Any) -> None:
        super().__init__(server, loop=loop, **options)
        self.peer = ""
        """The client's address; of IPv6 the network, as each machine has many addresses there."""
        self._owner = owner
        self._clock = loop.time
        self._wire: asyncio.Transport | None = None
        self._phase = ConnectionPhase.HEAD
        self.since_s = loop.time()
        """The time at which the present phase began."""
        self._head_bytes = 0
        self._rest_bytes = 0
        self._requests_begun = 0
        self._body: StreamReader | None = None

    @property
    def phase(self) -> ConnectionPhase:
        """The phase of the connection."""
        if self._body is not None and self._body.is_eof():
            return (
                ConnectionPhase.HANDLER
                if self._phase is ConnectionPhase.BODY
                else ConnectionPhase.IDLE
                if self._phase is ConnectionPhase.REST
                else self._phase
            )
        return self._phase

    def overdue(self, now_s: float, patience: Patience) -> str:
        """The reason for which the client's time is up, as a slug; empty while it still has time."""
        phase = self.phase
        limit_s = patience.of(phase)
        return phase.value if limit_s is not None and now_s - self.since_s >= limit_s else ""

    def let_go(self, reason: str) -> None:
        """Close now, whatever is still to be sent. A client whose request was begun and not answered is informed."""
        phase, wire, self._wire = self.phase, self._wire, None
        self._owner.forget(self, reason)
        if wire is None:
            return
        if (phase is ConnectionPhase.HEAD and self._head_bytes) or phase is ConnectionPhase.BODY:
            wire.write(_TOO_SLOW)
        wire.abort()

    def request_begins(self, body: StreamReader) -> None:
        """A head has come, and its handler is about to run."""
        self._body = body
        self._head_bytes = self._rest_bytes = 0
        self._requests_begun += 1
        self._enter(ConnectionPhase.BODY)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has come."""
        assert isinstance(transport, asyncio.Transport)
        self._wire = transport
        self.peer = peer_of(transport.get_extra_info("peername"))
        self._enter(ConnectionPhase.HEAD)
        if self._owner.admit(self):
            super().connection_made(transport)
        else:
            transport.abort()

    def connection_lost(self, exc: BaseException | None) -> None:
        """The client has gone, or we closed the connection."""
        self._wire = None
        self._owner.forget(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes from the client."""
        if data and self.phase is ConnectionPhase.IDLE:
            self._body = None
            self._enter(ConnectionPhase.HEAD)
        super().data_received(data)
        if self.phase is ConnectionPhase.HEAD and self._requests_begun == self._request_count:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES and self._wire is not None:
                self._head_bytes = 0
                self._wire.write(raw_answer(HEAD_TOO_LARGE))
                self.let_go("large_head")
        elif self.phase is ConnectionPhase.REST:
            self._rest_bytes += len(data)
            if self._rest_bytes > MAX_REST_BYTES:
                self.let_go("large_rest")

    def divert(self, reader: asyncio.StreamReader) -> None:
        """From now on give the client's bytes to `reader` as they come: after the head of a request that was upgraded."""
        self.set_parser(_Bytes(reader))  # type: ignore[arg-type]  # aiohttp calls these two methods of its parser

    async def drained(self) -> None:
        """Wait until the client takes more bytes. Raises ConnectionError when it has gone."""
        await self._drain_helper()

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send an answer."""
        self._enter(ConnectionPhase.READER)
        try:
            return await super().finish_response(request, resp, start_time)
        finally:
            self._enter(ConnectionPhase.IDLE if self._body is None or self._body.is_eof() else ConnectionPhase.REST)
            if self._handler_waiter is not None and self._handler_waiter.done():
                # Aiohttp's stop has waited long enough, and not yet noted so: it would break on a result that comes now.
                self._handler_waiter = None

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """Invalid HTTP is answered in our form, without the parser's words; a mistake of ours is logged."""
        if isinstance(exc, BadHttpMessage):
            too_large = isinstance(exc, LineTooLong) or "Too many headers" in exc.message
            problem = HEAD_TOO_LARGE if too_large else _NO_HTTP
        else:
            self.log_exception("a request failed outside its handler", exc_info=exc)
            problem = Problem(500, "internal_error", "The server failed on this request; its log says why.")
        if request.writer is not None and request.writer.output_size > 0:
            raise ConnectionError("an answer had begun")
        response = problem.response()
        response.force_close()
        return response

    def _enter(self, phase: ConnectionPhase) -> None:
        self._phase = phase
        self.since_s = self._clock()


@dataclass(frozen=True, slots=True)
class _Bytes:
    """Takes the bytes of a client in place of aiohttp's parser of WebSockets."""

    reader: asyncio.StreamReader

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """Bytes have come."""
        self.reader.feed_data(data)
        return False, b""

    def feed_eof(self) -> None:
        """The client has gone."""
        self.reader.feed_eof()


def peer_of(name: object) -> str:
    """The address of a socket's peer; for IPv6 its /64 network."""
    if not isinstance(name, Sequence):
        return ""
    try:
        address = ipaddress.ip_address(str(name[0]).partition("%")[0])
    except (IndexError, TypeError, ValueError):
        return ""
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is None:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(getattr(address, "ipv4_mapped", None) or address)


def raw_answer(problem: Problem) -> bytes:
    """An answer to what never became a request, after which the connection is closed."""
    response = problem.response()
    body = response.body
    assert isinstance(body, bytes)
    head = f"HTTP/1.1 {response.status} {response.reason}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body


HEAD_TOO_LARGE = Problem(
    431,
    "headers_too_large",
    f"The request line and headers are too large; send at most {MAX_HEADERS} headers and {MAX_HEAD_BYTES} bytes, "
    f"{MAX_LINE_BYTES} a line.",
)
_NO_HTTP = Problem(400, "bad_request", "This is no valid HTTP/1.1 request.")
_TOO_SLOW = raw_answer(Problem(408, "request_timeout", "The request did not come in time; send it in one go."))
