"""The addresses by which the processes of a server reach each other: `unix:PATH` on one machine, `http://HOST:PORT` between
machines. A machine that loses its power or its network closes no connection: TCP is told to notice it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from urllib.parse import urlsplit

from voiceagent.server.http.behind_front import UNIX

LOST_AFTER_S = 6
"""A connection breaks when the other machine has acknowledged nothing for so long. That its process is busy does not matter: the
kernel answers."""
_PROBES = {"TCP_KEEPIDLE": 2, "TCP_KEEPINTVL": 1, "TCP_KEEPCNT": LOST_AFTER_S - 2}
"""tcp(7): a connection over which nothing is sent is probed. A system that lacks an option notices later."""


async def connected(address: str, limit: int, *, is_link: bool = False) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection, of which at most twice `limit` bytes are read ahead. `is_link`: see `_notice_loss`. Raises OSError."""
    if address.startswith(UNIX):
        return await asyncio.open_unix_connection(address.removeprefix(UNIX), limit=limit)
    parts = urlsplit(address)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=limit)
    _notice_loss(writer, is_link=is_link)
    return reader, writer


async def listening_at(
    address: str, came: Callable[[asyncio.StreamReader, asyncio.StreamWriter], None], limit: int
) -> asyncio.Server:
    """Listens for links, and calls `came` for each. Raises OSError."""
    if address.startswith(UNIX):
        return await asyncio.start_unix_server(came, address.removeprefix(UNIX), limit=limit)
    parts = urlsplit(address)

    def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _notice_loss(writer, is_link=True)
        came(reader, writer)

    return await asyncio.start_server(accepted, parts.hostname, parts.port, limit=limit)


def _notice_loss(writer: asyncio.StreamWriter, *, is_link: bool) -> None:
    """Have the connection break when the other machine is gone. TCP probes no connection over which something sent is not
    acknowledged yet; a limit for that (RFC 5482) breaks a connection whose other end reads late, too. So a link alone has one:
    both its ends read at once."""
    found: socket.socket = writer.get_extra_info("socket")
    found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (_PROBES | ({"TCP_USER_TIMEOUT": LOST_AFTER_S * 1000} if is_link else {})).items():
        if hasattr(socket, name):
            found.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
