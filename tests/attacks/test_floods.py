"""A thousand WebSockets that are half open, and clients that flood their calls with a megabyte of events a second: a caller
beside them is answered, the flooders are ended for abuse, and nothing of it stays."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import psutil

from tests.attacks.abuser import beside
from tests.attacks.figures import MEASURING, at_most, hold, within
from tests.attacks.honest import meet, percentile
from tests.attacks.raw_http import connected, guarded_server
from tests.attacks.test_leaks import settled
from tests.attacks.test_slow_clients import closed_after
from tests.server_process import ServerProcess
from voiceagent.latency.budgets import load_budgets
from voiceagent.latency.spans import Stage
from voiceagent.resources import default_budgets_file
from voiceagent.server.http.connections import MAX_CONNECTIONS

HONEST, SILENT, FLOODER = "the-key-of-the-honest-01", "the-key-of-the-silent-02", "the-key-of-the-flooder-03"
CALLS = 4
"""WebSockets that are finished, so that a call begins whose client says nothing."""
HEARD = "output_audio_buffer.stopped"
SOCKETS = 1000
TURNS = 10 if MEASURING else 2
FEW = 32
"""Descriptors of a few calls, and of threads that the server keeps once it had work for them."""
CLOSED_S = 60.0
MEMORY_MB = 32.0
"""What the server keeps after some forty calls that were ended for abuse."""
NAME = "1,000 half-open WebSockets and floods"

UPGRADE = (
    b"GET /v1/realtime?model=any HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
)
BEGUN = (UPGRADE, UPGRADE + b"\r\n", UPGRADE + b"Authorization: Bearer wrong\r\n\r\n")
"""Stopped in the middle; without a key; with a wrong one."""
FINISHED = UPGRADE + f"Authorization: Bearer {SILENT}\r\n\r\n".encode()


async def half_open(url: str, sockets: list[socket.socket]) -> None:
    """So many WebSockets, begun in each way. The first are finished with a right key, and then silent."""
    for number in range(SOCKETS):
        sockets.append(connected(url, BEGUN[number % len(BEGUN)] if number >= CALLS else FINISHED))
        await asyncio.sleep(0)


def told(server: ServerProcess, name: str) -> int:
    """The number of events of this name that the server has sent."""
    return (server.data / "sent_events.jsonl").read_text().count(f'"{name}"')


async def told_again(server: ServerProcess, name: str, before: int) -> None:
    """Return once another event of this name was sent."""
    async with asyncio.timeout(30):
        while True:
            if told(server, name) > before:
                return
            await asyncio.sleep(0.1)


async def test_half_open_websockets_and_floods_leave_a_caller_answered_and_nothing_behind(tmp_path: Path) -> None:
    sockets: list[socket.socket] = []
    with guarded_server(tmp_path, keys=f"{HONEST},{SILENT},{FLOODER}") as server:
        process = psutil.Process(server.process.pid)
        await meet(server.url, calls=1, turns=1, key=HONEST)
        before, most = await settled(server.url, process, HONEST), 0
        heard = told(server, HEARD)
        meeting = asyncio.create_task(meet(server.url, calls=1, turns=TURNS, key=HONEST))
        try:
            await told_again(server, HEARD, heard)
            async with (
                beside(server.url, "megabytes", FLOODER) as by_channel,
                beside(server.url, "megabytes over a WebSocket", FLOODER) as by_socket,
            ):
                await half_open(server.url, sockets)
                while not meeting.done():
                    most = max(most, process.num_fds())
                    await asyncio.sleep(0.1)
            await closed_after(sockets[CALLS:], CLOSED_S)
        finally:
            for each in sockets:
                each.close()
        after = await settled(server.url, process, HONEST)
    met = await meeting
    print(before, most, after, by_channel, by_socket)
    assert (met.calls, met.failed, met.refused) == (1, [], [])
    for abuse in (by_channel, by_socket):
        assert set(abuse.ended) == {"abuse"}
    assert most <= before["descriptors"] + MAX_CONNECTIONS + FEW
    assert after["tasks"] == before["tasks"]
    assert after["descriptors"] <= before["descriptors"] + FEW
    budget = load_budgets(default_budgets_file()).of("embedded")[Stage.VOICE_TO_VOICE]
    hold(
        within(f"{NAME}: voice to voice p95 beside them", percentile(met.voice_to_voice_ms, 95), budget.p95_ms, "ms"),
        within(f"{NAME}: packet gap p99 beside them", percentile(met.gaps_ms, 99), 40.0, "ms"),
        within(f"{NAME}: limited after", max(by_channel.limited_s + by_socket.limited_s), 2.0, "s"),
        at_most(f"{NAME}: memory", (after["rss"] - before["rss"]) / 1e6, MEMORY_MB, "MB"),
    )
