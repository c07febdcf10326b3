"""Stopping a server: callers are told at once and the process is gone in seconds, whatever slow clients do; or it drains, and
nobody is cut short."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from tests.attacks.figures import ROOM, hold, within
from tests.attacks.raw_http import address_of, connected, guarded_server, readiness
from tests.server_process import ServerProcess, running_server
from voiceagent.client.caller import Caller, ReceivedEvent
from voiceagent.errors import MediaError

CALLS = 16
TOLD_S = 0.5
GONE_S = 5.0
HALF_HEAD = b"POST /v1/realtime/calls HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Ty"
HALF_BODY = b"POST /v1/realtime/calls HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer secret\r\n" + (
    b"Content-Type: application/sdp\r\nContent-Length: 5000\r\n\r\nv=0\r\n"
)
PAGE = b"GET /lib/voiceagent.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def slow_clients(url: str) -> list[socket.socket]:
    """Half requests, and clients who ask for megabytes and read nothing."""
    half = [connected(url, sent) for sent in (b"", HALF_HEAD, HALF_BODY) * 10]
    readers = [connected(url, receive_bytes=2048) for _ in range(10)]
    for reader in readers:
        try:
            for _ in range(100):
                reader.send(PAGE * 50)
        except BlockingIOError:
            continue
    return [*half, *readers]


@asynccontextmanager
async def calls_up(url: str, count: int) -> AsyncIterator[list[asyncio.Task[ReceivedEvent]]]:
    """So many calls; of each, the event with which it ends."""
    async with AsyncExitStack() as stack:
        ends = []
        for _ in range(count):
            caller = await connected_caller(url)
            stack.push_async_callback(caller.hangup)
            began = asyncio.Event()
            ends.append(asyncio.create_task(end_of(caller, began)))
            await began.wait()
        yield ends


async def connected_caller(url: str) -> Caller:
    """A caller who calls again when the server asks for that: it lets few in at a time."""
    async with asyncio.timeout(60):
        while True:
            caller = Caller(url, "secret")
            try:
                await caller.connect()
            except MediaError:
                await asyncio.sleep(0.25)
            else:
                return caller


async def end_of(caller: Caller, began: asyncio.Event) -> ReceivedEvent:
    async for event in caller.events():
        began.set()
        if event.type == "voiceagent.call_ended":
            return event
    began.set()
    raise AssertionError("the call ended and its caller was not told")


async def gone(server: ServerProcess, limit_s: float) -> None:
    """Wait until the process is gone."""
    await asyncio.to_thread(server.process.wait, limit_s)


async def closed_to_newcomers(url: str) -> None:
    """Wait until nobody can connect any more. Nothing tells that: it is tried again and again."""
    while True:
        try:
            socket.create_connection(address_of(url), 1).close()
        except OSError:
            return
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_callers_are_told_at_once_and_the_process_is_gone_whatever_slow_clients_do(
    tmp_path: Path, number: signal.Signals
) -> None:
    with guarded_server(tmp_path) as server:
        clients = slow_clients(server.url)
        async with calls_up(server.url, CALLS) as ends:
            clients += slow_clients(server.url)
            signalled_s = time.monotonic()
            server.process.send_signal(number)
            told = await asyncio.wait_for(asyncio.gather(*ends), GONE_S * ROOM)
            await gone(server, GONE_S * ROOM)
            took_s = time.monotonic() - signalled_s
        late_s = max(event.received_ms / 1000 for event in told) - signalled_s
        assert {event.data["reason"] for event in told} == {"server_stopping"}
        hold(
            within("a stop with 16 calls, half requests and slow readers: callers told after", late_s, TOLD_S, "s"),
            within("a stop with 16 calls, half requests and slow readers: process gone after", took_s, GONE_S, "s"),
        )
        for client in clients:
            client.close()


async def test_a_second_signal_ends_the_process_at_once(tmp_path: Path) -> None:
    with guarded_server(tmp_path, exit_code=128 + signal.SIGINT) as server:
        clients = slow_clients(server.url)
        await readiness(server.url)
        server.process.send_signal(signal.SIGTERM)
        await closed_to_newcomers(server.url)
        signalled_s = time.monotonic()
        server.process.send_signal(signal.SIGINT)
        await gone(server, GONE_S)
        hold(within("a second signal: process gone after", time.monotonic() - signalled_s, 0.5, "s"))
        for client in clients:
            client.close()


def test_a_signal_while_the_engines_are_loaded_ends_the_process_in_time(tmp_path: Path) -> None:
    environment = {**os.environ, "VOICEAGENT_DATA": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "voiceagent", "serve", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    assert "loading" in process.stdout.readline()
    process.terminate()
    assert process.wait(GONE_S) == 0
    said = process.communicate()[1]
    assert "Traceback" not in said, said


STUCK = """
import asyncio, time
from contextlib import asynccontextmanager
from voiceagent.settings.agent import AdmissionSettings
from voiceagent.server.calls.admission import Admission
from voiceagent.server.http.app import Service, make_app
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.server.http.run import serve

@asynccontextmanager
async def load():
    await asyncio.to_thread(time.sleep, 60)
    yield

metrics = Metrics()
app = make_app(Service(None, load, "embedded", {}, metrics, Admission(AdmissionSettings(), metrics)))
asyncio.run(serve(app, "127.0.0.1", 0, on_bound=lambda url: print(url, flush=True)))
"""


def test_what_cannot_be_interrupted_is_not_waited_for() -> None:
    process = subprocess.Popen([sys.executable, "-c", STUCK], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("http://")
    signalled_s = time.monotonic()
    process.terminate()
    assert process.wait(GONE_S * ROOM) == 1
    hold(within("a stop that waits for nothing: process gone after", time.monotonic() - signalled_s, GONE_S, "s"))
    assert process.communicate()[1].strip() == "the server did not stop within 4.5 s and ends as it is"


@pytest.mark.parametrize("how", ["signal", "request"])
async def test_a_server_that_drains_lets_its_calls_end_and_takes_no_new_ones(tmp_path: Path, how: str) -> None:
    with guarded_server(tmp_path) as server:
        async with calls_up(server.url, 2) as ends:
            for _ in range(2):  # twice is as good as once
                await begin_to_drain(server, how)
            answer, _ = await readiness(server.url)
            assert answer.startswith(b"HTTP/1.1 503")
            assert b"draining" in answer
            with pytest.raises(MediaError, match="takes no new calls"):
                await Caller(server.url, "secret").connect()
            headers = {"Authorization": "Bearer secret"}
            async with aiohttp.ClientSession(headers=headers) as session:
                async with session.post(f"{server.url}/v1/realtime/calls", data="v=0") as response:
                    assert response.status == 503
                    assert (await response.json())["error"]["code"] == "draining"
                    assert int(response.headers["Retry-After"]) > 0
                async with session.get(f"{server.url}/metrics") as response:
                    assert 'voiceagent_calls_refused_total{reason="draining"} 2' in await response.text()
            assert not any(end.done() for end in ends)
            assert server.process.poll() is None
            for end in ends:
                end.cancel()
            await asyncio.gather(*ends, return_exceptions=True)
        await gone(server, GONE_S)
        assert server.process.returncode == 0


async def begin_to_drain(server: ServerProcess, how: str) -> None:
    if how == "signal":
        server.process.send_signal(signal.SIGUSR1)
        while (await readiness(server.url))[0].startswith(b"HTTP/1.1 200"):
            continue
        return
    async with aiohttp.ClientSession() as session:
        async with session.post(f"{server.url}/v1/voiceagent/drain") as response:
            assert response.status == 401
        async with session.post(f"{server.url}/v1/voiceagent/drain", headers={"Authorization": "Bearer secret"}) as response:
            assert response.status == 202
            assert await response.json() == {"draining": True, "calls": 2, "timeout_s": 600.0}


async def test_calls_that_do_not_end_while_a_server_drains_are_told_and_ended(tmp_path: Path) -> None:
    with guarded_server(tmp_path, "--drain-timeout", "1") as server:
        async with calls_up(server.url, 2) as ends:
            server.process.send_signal(signal.SIGUSR1)
            told = await asyncio.wait_for(asyncio.gather(*ends), 1 + GONE_S)
        assert {event.data["reason"] for event in told} == {"server_stopping"}
        await gone(server, GONE_S)


async def test_a_server_without_calls_drains_at_once(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        async with aiohttp.ClientSession() as session, session.post(f"{server.url}/v1/voiceagent/drain") as response:
            assert response.status == 202
        await gone(server, GONE_S)


async def test_without_keys_a_page_of_another_site_cannot_drain_a_server(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        headers = {"Origin": "https://example.org"}
        drain = f"{server.url}/v1/voiceagent/drain"
        async with aiohttp.ClientSession(headers=headers) as session, session.post(drain) as response:
            assert response.status == 403
        assert (await readiness(server.url))[0].startswith(b"HTTP/1.1 200")


async def test_a_signal_stops_a_server_that_drains(tmp_path: Path) -> None:
    with guarded_server(tmp_path) as server:
        async with calls_up(server.url, 1) as ends:
            await begin_to_drain(server, "signal")
            server.process.terminate()
            told = await asyncio.wait_for(asyncio.gather(*ends), TOLD_S + GONE_S)
            assert told[0].data["reason"] == "server_stopping"
        await gone(server, GONE_S)
