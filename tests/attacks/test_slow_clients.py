"""Clients without a key who are slow on purpose: the server stays there for others, lets go of them in time, and its log stays
short."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.figures import ROOM, at_most, hold, within
from tests.attacks.raw_http import address_of, connected, exchange, guarded_server, is_open, readiness
from tests.server_process import ServerProcess
from voiceagent.client.caller import Caller

CLIENTS = 1100
ALL_CLOSED_S = 15.0
READY_MS = 100.0
LOG_BYTES = 10_240

HALF_HEAD = b"POST /v1/realtime/calls HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Ty"
HALF_BODY = b"POST /v1/realtime/calls HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer secret\r\n" + (
    b"Content-Type: application/sdp\r\nContent-Length: 5000\r\n\r\nv=0\r\n"
)
WHOLE = b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with guarded_server(tmp_path_factory.mktemp("server")) as running:
        yield running


async def closed_after(connections: list[socket.socket], limit_s: float) -> float:
    """How long it took until all were closed. Looks, and looks again, as nothing tells."""
    began_s = time.monotonic()
    remaining = list(connections)
    while remaining := [connection for connection in remaining if is_open(connection)]:
        assert time.monotonic() - began_s < limit_s, f"{len(remaining)} of {len(connections)} are still open"
        await asyncio.sleep(0.05)
    return time.monotonic() - began_s


async def test_1100_half_requests_leave_the_server_reachable_and_are_closed_in_time(tmp_path: Path) -> None:
    connections: list[socket.socket] = []
    with guarded_server(tmp_path) as server:
        try:
            async with Caller(server.url, "secret") as caller:
                began_s = time.monotonic()
                worst_ms = 0.0
                for number in range(CLIENTS):
                    connections.append(connected(server.url, HALF_BODY if number % 4 == 3 else HALF_HEAD))
                    if number % 25 == 0 or number > CLIENTS - 20:
                        answer, took_ms = await readiness(server.url)
                        assert answer.startswith(b"HTTP/1.1 200"), answer
                        worst_ms = max(worst_ms, took_ms)
                await closed_after(connections, ALL_CLOSED_S * ROOM)
                assert not caller.end_reason, "the call goes on"
        finally:
            for connection in connections:
                connection.close()
        log = (server.data / "server.log").read_text()
    print(log[:2000])
    hold(
        within("1,100 half requests: answer of /readyz", worst_ms, READY_MS, "ms"),
        within("1,100 half requests: all closed after", time.monotonic() - began_s, ALL_CLOSED_S, "s"),
        at_most("1,100 half requests: log", len(log), LOG_BYTES, "bytes"),
    )


async def test_who_does_not_go_on_is_let_go(server: ServerProcess) -> None:
    silent = {b"": 6.5, HALF_HEAD: 6.5, HALF_BODY: 11.5, WHOLE: 16.5, WHOLE + HALF_HEAD: 16.5}
    connections = [connected(server.url, sent) for sent in silent]
    try:
        await asyncio.gather(*(closed_after([each], limit_s) for each, limit_s in zip(connections, silent.values(), strict=True)))
    finally:
        for connection in connections:
            connection.close()


async def test_a_byte_now_and_then_buys_no_time(server: ServerProcess) -> None:
    await asyncio.gather(drip(server, HALF_HEAD, 6.5), drip(server, HALF_BODY, 11.5))


async def drip(server: ServerProcess, begun: bytes, limit_s: float) -> None:
    connection = connected(server.url, begun)
    began_s = time.monotonic()
    try:
        while is_open(connection):
            assert time.monotonic() - began_s < limit_s
            await asyncio.sleep(0.25)
            try:
                connection.send(b"a")
            except OSError:
                break
    finally:
        connection.close()


async def test_who_is_let_go_is_told_why_in_one_line(server: ServerProcess) -> None:
    for answer, _ in await asyncio.gather(*(exchange(server.url, sent) for sent in (HALF_HEAD, HALF_BODY))):
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b'"code": "request_timeout"' in answer


async def test_who_does_not_read_is_let_go(server: ServerProcess) -> None:
    """Answers of some megabytes: more than the system's buffers take."""
    page = b"GET /lib/voiceagent.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    connection = connected(server.url, receive_bytes=2048)
    asked = 0
    try:
        began_s = time.monotonic()
        while time.monotonic() - began_s < 20:
            try:
                asked += connection.send(page * 50)
            except BlockingIOError:
                await asyncio.sleep(0.1)
            except OSError:
                break
        else:
            raise AssertionError("it is still open")
        assert asked > 5000
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n", b"431"),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 9000 + b"\r\n", b"431"),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"".join(b"X-%d: a\r\n" % n for n in range(200)), b"431"),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"a" * 4000) for n in range(9)), b"431"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n", b"400"),
        (b"GET / HTTP/9.9\r\nHost: 127.0.0.1\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nBad Header\x00: 1\r\n", b"400"),
    ],
    ids=["long line", "long header", "many headers", "much of all", "TLS", "version", "length", "smuggling", "zero"],
)
async def test_what_is_no_request_is_refused_in_one_line_that_shows_nothing(
    server: ServerProcess, head: bytes, status: bytes
) -> None:
    before = server.said()
    answer, _ = await exchange(server.url, head + b"\r\n")
    assert answer.split(b" ")[1] == status, answer
    assert b'{"error": {"message": ' in answer
    assert b"aaaa" not in answer
    assert b"Traceback" not in answer
    assert server.said() == before


@pytest.mark.parametrize(
    "rest",
    [b"zz\r\nv=0\r\n", b"5\r\nv=0\r\nxx", b"ffffffffffffffffff\r\n"],
    ids=["no size", "wrong size", "a size that is too large"],
)
async def test_a_body_that_is_broken_is_refused_and_logs_nothing(server: ServerProcess, rest: bytes) -> None:
    head = b"POST /v1/realtime/calls HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer secret\r\n"
    before = server.said()
    answer, _ = await exchange(server.url, head + b"Content-Type: application/sdp\r\nTransfer-Encoding: chunked\r\n\r\n" + rest)
    assert answer.split(b" ")[1] == b"400", answer
    assert server.said() == before


async def test_who_goes_away_in_mid_body_leaves_no_traceback(server: ServerProcess) -> None:
    before = server.said()
    for _ in range(50):
        connected(server.url, HALF_BODY).close()
    await readiness(server.url)
    assert server.said() == before


async def test_one_address_does_not_crowd_out_another(tmp_path: Path) -> None:
    """All of 127.0.0.0/8 is this machine: a flood from one address, and a slow but honest client at another."""
    with guarded_server(tmp_path, "--max-connections", "50") as server:
        honest = socket.socket()
        honest.bind(("127.0.0.2", 0))
        honest.connect(address_of(server.url))
        honest.send(WHOLE[:-2])
        flood = [connected(server.url, HALF_HEAD) for _ in range(200)]
        await readiness(server.url)
        assert sum(map(is_open, flood)) <= 50
        honest.send(WHOLE[-2:])
        honest.settimeout(5)
        assert honest.recv(100).startswith(b"HTTP/1.1 200")
        for connection in (honest, *flood):
            connection.close()


async def test_a_lack_of_descriptors_is_survived_and_told_briefly(tmp_path: Path) -> None:
    """Calls, or another part of the process, may have taken those that were meant for connections."""
    with guarded_server(tmp_path) as server:
        pid = server.process.pid
        used = len(os.listdir(f"/proc/{pid}/fd"))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 20, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        flood = [connected(server.url, HALF_HEAD) for _ in range(100)]
        answer, took_ms = await readiness(server.url)
        assert answer.startswith(b"HTTP/1.1 200")
        for connection in flood:
            connection.close()
        log = (server.data / "server.log").read_text()
    assert took_ms < 5000
    assert "raise the limit of open files" in log
    assert len(log) <= LOG_BYTES, log[:2000]


async def test_unknown_paths_cost_little(server: ServerProcess) -> None:
    """As many as an address may ask for at once, at 3 ms each."""
    asked = b"".join(b"GET /%032x.php HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % number for number in range(20))
    began_s = time.perf_counter()
    for _ in range(15):
        reader, writer = await asyncio.open_connection(*address_of(server.url))
        writer.write(asked)
        for _ in range(20):
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 404")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            assert b"not_found" in await reader.readexactly(length)
        writer.close()
    hold(within("300 unknown paths: all answered after", time.perf_counter() - began_s, 0.9, "s"))
