"""The addresses by which the processes of a server reach each other: `unix:PATH` on one machine, `http://HOST:PORT` between
machines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from urllib.parse import urlsplit

from voiceagent.server.http.behind_front import UNIX


async def connected(address: str, limit: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection, of which at most twice `limit` bytes are read ahead. Raises OSError."""
    if address.startswith(UNIX):
        return await asyncio.open_unix_connection(address.removeprefix(UNIX), limit=limit)
    parts = urlsplit(address)
    return await asyncio.open_connection(parts.hostname, parts.port, limit=limit)


async def listening_at(
    address: str, came: Callable[[asyncio.StreamReader, asyncio.StreamWriter], None], limit: int
) -> asyncio.Server:
    """Listens, and calls `came` for each connection. Raises OSError."""
    if address.startswith(UNIX):
        return await asyncio.start_unix_server(came, address.removeprefix(UNIX), limit=limit)
    parts = urlsplit(address)
    return await asyncio.start_server(came, parts.hostname, parts.port, limit=limit)
