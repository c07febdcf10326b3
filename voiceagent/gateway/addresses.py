"""The addresses by which the processes of a server reach each other: `unix:PATH` on one machine, `http://HOST:PORT` between
machines. A machine that loses its power or its network closes no connection: TCP is told to notice it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from urllib.parse import urlsplit

from voiceagent.server.http.behind_front import UNIX

LOST_AFTER_S = 6
"""A connection breaks when the other machine has acknowledged nothing for so long. A process that is busy does not matter: its
kernel answers."""
_ASKED = {"TCP_KEEPIDLE": 2, "TCP_KEEPINTVL": 1, "TCP_KEEPCNT": LOST_AFTER_S - 2, "TCP_USER_TIMEOUT": LOST_AFTER_S * 1000}
"""tcp(7): a connection over which nothing is sent is probed from the second second on; one over which something is sent waits
for its acknowledgement (RFC 5482). A system that lacks an option notices later."""


async def connected(address: str, limit: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection, of which at most twice `limit` bytes are read ahead. Raises OSError."""
    if address.startswith(UNIX):
        return await asyncio.open_unix_connection(address.removeprefix(UNIX), limit=limit)
    parts = urlsplit(address)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=limit)
    _notice_loss(writer)
    return reader, writer


async def listening_at(
    address: str, came: Callable[[asyncio.StreamReader, asyncio.StreamWriter], None], limit: int
) -> asyncio.Server:
    """Listens, and calls `came` for each connection. Raises OSError."""
    if address.startswith(UNIX):
        return await asyncio.start_unix_server(came, address.removeprefix(UNIX), limit=limit)
    parts = urlsplit(address)

    def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _notice_loss(writer)
        came(reader, writer)

    return await asyncio.start_server(accepted, parts.hostname, parts.port, limit=limit)


def _notice_loss(writer: asyncio.StreamWriter) -> None:
    """Have the connection break when the other machine is gone."""
    found: socket.socket = writer.get_extra_info("socket")
    found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _ASKED.items():
        if hasattr(socket, name):
            found.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
