"""Connections between a gateway and a worker on another machine."""

from __future__ import annotations

import asyncio
import socket

import pytest

from voiceagent.gateway.addresses import LOST_AFTER_S, connected

SENT = bytes(8_388_608)
"""More than what the kernel keeps for an end that reads nothing."""
_BACKOFF = 4
"""Of the bytes of a TCP_INFO, the one that counts how often the time between two probes of a full window was doubled
(`struct tcp_info` in linux/tcp.h)."""
_FIRST_PROBE_S = 0.2


@pytest.mark.skipif(not hasattr(socket, "TCP_INFO"), reason="only Linux tells how often TCP has probed")
async def test_a_connection_lives_whose_other_end_reads_late() -> None:
    """A WebSocket client may send faster than its worker listens."""
    reads, received = asyncio.Event(), asyncio.Event()

    async def worker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reads.wait()
        await reader.readexactly(len(SENT))
        received.set()
        writer.close()

    async with await asyncio.start_server(worker, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        _, writer = await connected(f"http://{host}:{port}", 65_536)
        writer.write(SENT)
        ours: socket.socket = writer.get_extra_info("socket")
        async with asyncio.timeout(10 * LOST_AFTER_S):
            while True:
                doubled = ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BACKOFF + 1)[_BACKOFF]
                if _FIRST_PROBE_S * (2**doubled - 1) > LOST_AFTER_S or writer.transport.is_closing():
                    break
                await asyncio.sleep(0.1)
            reads.set()
            await writer.drain()
            await received.wait()
        writer.close()
