"""One request to a worker, over a connection of its own: a UNIX socket, or TCP with the cluster's key. HTTP/1.1 as `aiohttp`
answers it: a body of a length, in chunks, or up to the end of the connection. The bytes of heads are passed on as they came."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from voiceagent.gateway.addresses import connected

CONNECT_S = 2.0
MAX_HEAD_BYTES = 32_768
PIECE = 65_536


class UpstreamError(Exception):
    """A worker did not answer to its end."""


class NoConnectionError(UpstreamError):
    """A worker did not take a connection: it has got nothing of the request."""


Headers = Sequence[tuple[str, str]]


@dataclass(slots=True)
class UpstreamAnswer:
    """The answer of a worker, whose body is still to be read."""

    address: str
    """The worker's."""
    status: int
    reason: str
    headers: Headers
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    has_body: bool = True
    whole: bytes | None = None
    """The body, once it was read in one piece."""
    _left: int | None = field(init=False)
    _is_chunked: bool = field(init=False)

    def __post_init__(self) -> None:
        named = {name.lower(): value for name, value in self.headers}
        self._is_chunked = "chunked" in named.get("transfer-encoding", "").lower()
        self._left = int(named["content-length"]) if named.get("content-length", "").isdigit() else None

    @property
    def length(self) -> int | None:
        """The length of the body in bytes; None: it is not known."""
        return None if self._is_chunked else self._left

    def named(self, name: str) -> str:
        """The value of a header; empty if it is not there."""
        return next((value for known, value in self.headers if known.lower() == name), "")

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body. Raises UpstreamError where it breaks off."""
        if not self.has_body or self.whole is not None:
            if self.whole:
                yield self.whole
            return
        try:
            if self._is_chunked:
                async for piece in self._chunks():
                    yield piece
            elif self._left is not None:
                while self._left > 0:
                    piece = await self.reader.read(min(PIECE, self._left))
                    if not piece:
                        raise UpstreamError("the body broke off")
                    self._left -= len(piece)
                    yield piece
            else:
                while piece := await self.reader.read(PIECE):
                    yield piece
        except (OSError, asyncio.IncompleteReadError, ValueError) as error:
            raise UpstreamError(str(error)) from error

    async def _chunks(self) -> AsyncIterator[bytes]:
        while size := int((await self.reader.readuntil(b"\r\n")).partition(b";")[0], 16):
            while size:
                piece = await self.reader.read(min(PIECE, size))
                if not piece:
                    raise UpstreamError("a chunk broke off")
                size -= len(piece)
                yield piece
            await self.reader.readexactly(2)
        while await self.reader.readuntil(b"\r\n") != b"\r\n":
            pass

    async def body(self, most: int) -> bytes:
        """The whole body. Raises UpstreamError where it breaks off, or is longer than `most` bytes."""
        found = bytearray()
        async for piece in self.pieces():
            found += piece
            if len(found) > most:
                raise UpstreamError(f"the answer has more than {most} bytes")
        self.whole = bytes(found)
        return self.whole

    async def close(self) -> None:
        """Close the connection. May be called twice."""
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()


async def ask(address: str, method: str, target: str, headers: Headers, body: bytes = b"") -> UpstreamAnswer:
    """Send a request to a worker; returns its answer, which must be closed. A request whose headers ask for an upgrade gets a
    body neither way. Raises UpstreamError."""
    try:
        async with asyncio.timeout(CONNECT_S):
            reader, writer = await connected(address, MAX_HEAD_BYTES)
    except (OSError, TimeoutError) as error:
        raise NoConnectionError(f"{address} takes no connection ({error})") from error
    try:
        writer.write(_head(method, target, headers, body) + body)
        await writer.drain()
        head = await reader.readuntil(b"\r\n\r\n")
        status, reason, found = _read_head(head)
    except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        writer.close()
        raise UpstreamError(f"{address} gave no answer ({error})") from error
    except BaseException:
        writer.close()
        raise
    return UpstreamAnswer(address, status, reason, found, reader, writer, method != "HEAD" and status not in (101, 204, 304))


def _head(method: str, target: str, headers: Headers, body: bytes) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    if body or method in ("POST", "PUT", "PATCH"):
        lines.append(f"Content-Length: {len(body)}")
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode("utf-8", "surrogateescape")


def _read_head(head: bytes) -> tuple[int, str, list[tuple[str, str]]]:
    first, *lines = head[:-4].decode("utf-8", "surrogateescape").split("\r\n")
    version, status, *reason = first.split(" ", 2)
    if not version.startswith("HTTP/1."):
        raise ValueError(f"the answer begins with {first[:40]!r}")
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    return int(status), reason[0] if reason else "", headers
