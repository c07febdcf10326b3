"""A machine that vanishes without closing a connection, as one does that loses its power: a worker's, and a gateway's. Here it is
a network namespace that cannot send any more. Only root can make one."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path

import aiohttp
import pytest

from bench.namespace import ADDRESS, OUR_ADDRESS, namespace
from tests.calls.socket_caller import SocketCaller
from voiceagent.gateway.seat import VARIABLE, WorkerSeat

KEY = "the-key-of-this-cluster"
FAR, NEAR, LOCAL = f"http://{ADDRESS}:17301", f"http://{OUR_ADDRESS}:17301", "http://127.0.0.1:17302"
"""The addresses where gateways take links: on the machine that vanishes, on ours as that machine sees it, and on ours."""
HERE: tuple[str, ...] = ()
"""The beginning of a command that runs on our machine."""
FOUND_S = 60.0
"""TCP alone would take a quarter of an hour."""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace is made by root alone")


@pytest.fixture
def far() -> Iterator[tuple[str, ...]]:
    """The beginning of a command that runs on the machine that vanishes."""
    with namespace() as prefix:
        yield prefix


def vanish(far: tuple[str, ...]) -> None:
    """From now on nothing comes from it."""
    subprocess.run([*far, "ip", "route", "add", "blackhole", f"{OUR_ADDRESS}/32"], check=True)


@contextmanager
def program(machine: tuple[str, ...], *arguments: str, log: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A program of ours on a machine, until the test has ended."""
    with log.open("w") as out:
        command = [*machine, sys.executable, "-m", *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=out, text=True, env={**os.environ, **environment})
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@asynccontextmanager
async def gateway(machine: tuple[str, ...], links: str, folder: Path) -> AsyncIterator[str]:
    """The URL of a gateway that takes links here."""
    with program(machine, "tests.gateway.lone_front", links, KEY, log=folder / "gateway.log") as process:
        assert process.stdout is not None
        yield (await asyncio.to_thread(process.stdout.readline)).strip()


@contextmanager
def worker(machine: tuple[str, ...], host: str, fronts: tuple[str, ...], folder: Path) -> Iterator[None]:
    """A worker that takes HTTP at this host."""
    seat = WorkerSeat(1, 1, f"http://{host}:0", fronts, os.getpid(), has_lines=False, key=KEY)
    given = {VARIABLE: seat.written(), "VOICEAGENT_DATA": str(folder), "OMP_NUM_THREADS": "1"}
    with program(machine, "voiceagent", "serve", log=folder / "worker.log", **given):
        yield


async def readiness(http: aiohttp.ClientSession, url: str, wanted: int) -> None:
    """Wait until a gateway answers so whether it is ready."""
    async with asyncio.timeout(FOUND_S):
        while True:
            async with http.get(f"{url}/readyz") as answer:
                if answer.status == wanted:
                    return
            await asyncio.sleep(0.1)


async def ended(caller: SocketCaller) -> None:
    """Wait until its connection is closed."""
    await caller.until(lambda: caller.closed[0] is not None, FOUND_S)


async def talks(caller: SocketCaller) -> None:
    """Send a microphone's silence until the connection ends."""
    with suppress(ConnectionError):
        while True:
            await caller.send("input_audio_buffer.append", audio="AAAA" * 640)
            await asyncio.sleep(0.04)


async def test_calls_of_a_worker_that_vanished_end_at_the_gateway(far: tuple[str, ...], tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(gateway(HERE, NEAR, tmp_path))
        stack.enter_context(worker(far, ADDRESS, (NEAR,), tmp_path))
        http = await stack.enter_async_context(aiohttp.ClientSession())
        await readiness(http, url, 200)
        callers = [await stack.enter_async_context(SocketCaller(url)) for _ in range(2)]
        for caller in callers:
            await caller.wait("response.done")
        talking = asyncio.create_task(talks(callers[0]))
        vanish(far)
        await asyncio.gather(*map(ended, callers))
        talking.cancel()
        await readiness(http, url, 503)


async def test_another_gateway_takes_calls_for_a_worker_whose_first_one_vanished(far: tuple[str, ...], tmp_path: Path) -> None:
    """The first gateway counts what clients take. Nobody can begin a call before its worker knows that it is gone."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(gateway(far, FAR, tmp_path))
        url = await stack.enter_async_context(gateway(HERE, LOCAL, tmp_path))
        stack.enter_context(worker(HERE, "127.0.0.1", (FAR, LOCAL), tmp_path))
        http = await stack.enter_async_context(aiohttp.ClientSession())
        await readiness(http, url, 200)
        async with SocketCaller(url) as before:
            await before.wait("response.done")
            vanish(far)
            async with SocketCaller(url, patient=True) as after:
                await after.wait("response.done")
