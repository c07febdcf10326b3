"""A cluster on a Ray that was started before it, with calls that are spoken in, kept in PostgreSQL. One of its two gateways is
killed, then the other, which is started anew, and then one of its workers: no call is lost, nothing that was heard is said again,
and the history of each is whole. `make test-cluster` runs this with the Python that has Ray."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.calls.socket_caller import SocketCaller
from tests.calls.test_killed import agent, check_story
from tests.calls.test_restart import STORY, ask_by_webrtc, is_rest
from tests.gateway.test_killed_worker import by_webrtc, heard, speaks, taken_up
from tests.kept_calls import whole_transcript
from tests.postgresql import postgresql
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.cluster import on_ray
from voiceagent.cluster.plan import free_port
from voiceagent.server.calls.call_ids import worker_of
from voiceagent.store.database import StoreAddress
from voiceagent.store.schema import connect

SECRETS = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "5" * 64, "VOICEAGENT_CLUSTER_KEY": "planted-cluster-key"}
WORKERS, SOCKETS, BROWSERS = 2, 4, 2
WITHIN_S = 90.0
WHOLE = f"Good morning. {STORY}"


async def said_by(process: asyncio.subprocess.Process, pattern: str) -> str:
    """Read what a process prints until it says this; returns the pattern's group."""
    assert process.stdout is not None
    async with asyncio.timeout(WITHIN_S):
        async for line in process.stdout:
            if found := re.search(pattern, line.decode()):
                return found[1]
    raise AssertionError(f"it ended and never said {pattern}")


@asynccontextmanager
async def running(environment: dict[str, str], *command: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process of its own, which is ended with the context."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", *command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


@dataclass
class Cluster:
    """A cluster on a Ray of others. Each of its gateways can be started again."""

    environment: dict[str, str]
    ray: str
    ports: tuple[int, int]
    """Where each gateway takes HTTP."""
    links: tuple[str, str]
    data: Path
    options: tuple[str, ...]
    stack: AsyncExitStack

    async def gateway(self, which: int) -> tuple[asyncio.subprocess.Process, str]:
        """Start a gateway; returns it with its URL once enough workers have linked to it."""
        own, other = self.links[which], self.links[1 - which]
        at = ("--port", str(self.ports[which]), "--link", own, "--link", other)
        command = ("voiceagent", "cluster", "up", "--address", self.ray, *at, *self.options)
        process = await self.stack.enter_async_context(running(self.environment, *command))
        return process, await said_by(process, r"answers at (http://\S+)")

    async def process_of(self, worker: int) -> int:
        """The process of a worker."""
        with on_ray.ray_at(self.ray, self.data):
            states = await on_ray.controller_found().states.remote()
        return int(next(state.report.process for state in states if state.order.number == worker))


@asynccontextmanager
async def cluster_of(config: Path, store: str) -> AsyncIterator[Cluster]:
    """A Ray on loopback, with a cluster's controller on it once a gateway was started."""
    data = config.parent / "data"
    own = {"VOICEAGENT_STORE": store, "VOICEAGENT_DATA": str(data), "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    environment = {**os.environ, **own, "RAY_USAGE_STATS_ENABLED": "0"}
    port, *ports = (free_port(on_ray.LOOPBACK) for _ in range(5))
    at = (f"--node-ip-address={on_ray.LOOPBACK}", f"--port={port}", f"--num-cpus={WORKERS}", "--include-dashboard=false")
    start = ("ray.scripts.scripts", "start", "--head", "--block", *at, f"--object-store-memory={on_ray.OBJECT_STORE_BYTES}")
    address = f"{on_ray.LOOPBACK}:{port}"
    options = ("--workers", str(WORKERS), "--max-calls", str(SOCKETS + BROWSERS), "--profile", "embedded")
    links = (f"{on_ray.LOOPBACK}:{ports[2]}", f"{on_ray.LOOPBACK}:{ports[3]}")
    async with running(environment, *start) as ray, AsyncExitStack() as stack:
        await said_by(ray, "(Ray runtime started)")
        yield Cluster(environment, address, (ports[0], ports[1]), links, data, (*options, "--config", str(config)), stack)


@dataclass
class Callers:
    """Calls of both kinds. Each is in the middle of the story."""

    by_socket: list[SocketCaller]
    browsers: list[Caller]
    dialogues: list[Dialogue]
    workers: list[int]
    """Of the browsers' calls, where they began."""

    @classmethod
    async def begun(cls, url: str, stack: AsyncExitStack) -> Callers:
        by_socket = [await stack.enter_async_context(SocketCaller(url, patient=True)) for _ in range(SOCKETS)]
        browsers = [await by_webrtc(url, stack) for _ in range(BROWSERS)]
        dialogues = [await stack.enter_async_context(Dialogue(caller)) for caller in browsers]
        for caller in by_socket:
            await caller.wait("response.done")
        for dialogue in dialogues:
            await dialogue.wait_greeting()
        return cls(by_socket, browsers, dialogues, [worker_of(browser.call_id) for browser in browsers])

    async def ask(self) -> None:
        """All ask for the story, and those over a WebSocket hear its beginning."""
        for caller in self.by_socket:
            await caller.write("Tell me a story.")
        for browser in self.browsers:
            ask_by_webrtc(browser, "Tell me a story.")
        await asyncio.gather(*map(speaks, self.by_socket))

    def ids(self) -> list[str]:
        """The present ids of the calls."""
        by_socket = [caller.named("session.created")[-1]["session"]["voiceagent"]["call_id"] for caller in self.by_socket]
        return [*by_socket, *(browser.call_id for browser in self.browsers)]


async def hear_the_story(dialogue: Dialogue) -> None:
    """Wait until the caller of a browser has had all of it in one reply."""
    await dialogue.wait_event(lambda event: is_rest(event) and STORY in str(event.data), 0, "the story")


async def hear_the_rest(caller: SocketCaller) -> None:
    """Take the call up again, and hear what was not heard."""
    await taken_up(caller)
    await heard(caller, WHOLE)


@asynccontextmanager
async def callers_at(url: str) -> AsyncIterator[Callers]:
    """Callers in the middle of the story."""
    async with AsyncExitStack() as stack:
        callers = await Callers.begun(url, stack)
        await callers.ask()
        yield callers


async def kill_one_gateway(first: asyncio.subprocess.Process, url: str, other_url: str) -> list[str]:
    """Kill it while the agent speaks, and go on at the other; returns the ids of the calls."""
    async with callers_at(url) as callers:
        first.kill()
        for caller in callers.by_socket:
            caller.url = other_url
        await asyncio.gather(*map(hear_the_story, callers.dialogues), *map(hear_the_rest, callers.by_socket))
        assert not any(browser.resumed for browser in callers.browsers)
        return callers.ids()


async def kill_the_only_gateway(cluster: Cluster, only: asyncio.subprocess.Process, url: str) -> list[str]:
    """Kill it while the agent speaks, and start it anew; returns the ids of the calls."""
    async with callers_at(url) as callers:
        only.kill()
        await asyncio.gather(only.wait(), *map(hear_the_story, callers.dialogues))
        assert (await cluster.gateway(1))[1] == url
        await asyncio.gather(*map(hear_the_rest, callers.by_socket))
        assert not any(browser.resumed for browser in callers.browsers)
        return callers.ids()


async def kill_a_worker(cluster: Cluster, url: str) -> list[str]:
    """Kill the worker of the first call while the agent speaks; returns the ids of the calls."""
    async with callers_at(url) as callers:
        killed = worker_of(callers.by_socket[0].call_id)
        os.kill(await cluster.process_of(killed), signal.SIGKILL)
        lost = [caller for caller in callers.by_socket if worker_of(caller.call_id) == killed]
        await asyncio.gather(*map(taken_up, lost))
        await asyncio.gather(*map(check_story, lost))
        for browser, dialogue, worker in zip(callers.browsers, callers.dialogues, callers.workers, strict=True):
            await dialogue.wait_event(is_rest, 0, "the rest")
            assert browser.resumed == (worker == killed)
        await asyncio.gather(*(heard(caller, WHOLE) for caller in callers.by_socket))
        return callers.ids()


async def test_killed_gateways_and_a_killed_worker_cost_no_call_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (*SECRETS.items(), (on_ray.LOOPBACK_VARIABLE, "0")):
        monkeypatch.setenv(name, value)  # this process asks Ray, too
    with postgresql() as database:
        store = database.new_store(tmp_path)
        async with agent(tmp_path) as file:
            file.write_text(f"{file.read_text()}records: {{keep: event_logs}}\n")
            async with cluster_of(file, store.url) as cluster:
                (first, url), (other, other_url) = await cluster.gateway(0), await cluster.gateway(1)
                call_ids = await kill_one_gateway(first, url, other_url)
                call_ids += await kill_the_only_gateway(cluster, other, other_url)
                call_ids += await kill_a_worker(cluster, other_url)
        kept = connect(StoreAddress(tmp_path / "none", store.url))
        for call_id in call_ids:
            said = [entry.text for entry in whole_transcript(kept, call_id) if not entry.text.startswith("goes on from call")]
            assert (said[0], said[1], said[-1]) == ("Good morning.", "Tell me a story.", "ended: hangup")
            assert " ".join(said[2:-1]) == STORY
        kept.close()
