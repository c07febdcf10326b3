"""A whole cluster on a real Ray, on loopback: `voiceagent cluster up` with three workers, real calls through its gateway, a
worker that is killed, one that is drained, and its end. `make test-cluster` runs this with the Python that has Ray."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from voiceagent.client.caller import Caller
from voiceagent.client.typed_call import TypedCall
from voiceagent.cluster import on_ray
from voiceagent.cluster.controller import WorkerState
from voiceagent.cluster.ray_package import FILE_NAME
from voiceagent.errors import MediaError
from voiceagent.server.calls.call_ids import worker_of

T = TypeVar("T")
WITHIN_S = 60.0
States = Mapping[int, WorkerState]


@dataclass
class Cluster:
    """A running cluster, and this process's connection to its Ray."""

    url: str
    process: subprocess.Popen[str]
    data: Path
    environment: dict[str, str]
    controller: Any

    async def command(self, *arguments: str) -> tuple[int, str, str]:
        """Run `voiceagent cluster …`; returns its exit code and what it said."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "voiceagent", "cluster", *arguments),
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        out, err = await process.communicate()
        return process.returncode or 0, out.decode(), err.decode()

    async def states(self) -> States:
        """The workers, by number."""
        return {state.order.number: state for state in await self.controller.states.remote()}

    async def until(self, wanted: Callable[[States], bool]) -> States:
        """Ask until the workers are as wanted."""
        async with asyncio.timeout(WITHIN_S):
            while not wanted(states := await self.states()):  # noqa: ASYNC110  it can only be asked
                await asyncio.sleep(0.1)
        return states


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    data = tmp_path_factory.mktemp("cluster")
    environment = {**os.environ, "VOICEAGENT_DATA": str(data), "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    options = ["--workers", "3", "--max-calls", "1", "--region", "here", "--port", "0", "--profile", "embedded"]
    command = [sys.executable, "-m", "voiceagent", "cluster", "up", *options]
    with (data / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        try:
            assert process.stdout is not None
            found = next((at for line in process.stdout if (at := re.search(r"answers at (http://\S+)", line))), None)
            assert found, (data / "log").read_text()
            with on_ray.ray_at("", data):
                yield Cluster(found[1], process, data, environment, on_ray.controller_found())
        finally:
            process.terminate()
            process.wait(20)


@asynccontextmanager
async def calls(cluster: Cluster, count: int) -> AsyncIterator[list[tuple[int, TypedCall]]]:
    """As many calls one after the other, each with the number of its worker."""
    async with AsyncExitStack() as stack:
        made = [await stack.enter_async_context(placed(lambda: TypedCall(cluster.url, None, timeout_s=20))) for _ in range(count)]
        yield [(worker_of(call.call_id), call) for call in made]


@asynccontextmanager
async def placed(make: Callable[[], AbstractAsyncContextManager[T]]) -> AsyncIterator[T]:
    """A call; on a machine that is busy, workers refuse for a while."""
    async with AsyncExitStack() as stack:
        async with asyncio.timeout(WITHIN_S):
            while True:
                try:
                    call = await stack.enter_async_context(make())
                    break
                except MediaError as error:
                    if "503" not in str(error):
                        raise
                    await asyncio.sleep(0.5)
        yield call


def are_ready(states: States) -> bool:
    return sum(state.is_ready for state in states.values()) == 3


async def test_each_call_goes_to_a_worker_with_a_free_place_and_is_answered(cluster: Cluster) -> None:
    async with calls(cluster, 3) as made:
        assert sorted(number for number, _ in made) == [1, 2, 3]
        for _, call in made:
            assert "in Paris" in (await call.say("What time is it in Paris?")).heard


async def test_status_lists_the_workers(cluster: Cluster) -> None:
    code, out, err = await cluster.command("status", "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert [(one["worker"], one["state"]) for one in told["workers"]] == [(1, "ready"), (2, "ready"), (3, "ready")]
    assert {one["region"] for one in told["workers"]} == {"here"}  # the label by which Ray has placed them
    assert told["last_change"] == {"here": "0 of at least 3 workers are there"}


async def test_sound_comes_straight_from_the_worker(cluster: Cluster) -> None:
    async with placed(lambda: Caller(cluster.url)) as caller:
        assert await caller.wait_heard(0.0) > 0.0
        assert worker_of(caller.call_id) in await cluster.states()


async def test_ray_starts_a_killed_worker_again_while_calls_elsewhere_go_on(cluster: Cluster) -> None:
    before = await cluster.until(are_ready)
    async with calls(cluster, 2) as made:
        free = (set(before) - {number for number, _ in made}).pop()
        old = before[free].report.process
        os.kill(old, signal.SIGKILL)
        for _, call in made:
            assert (await call.say("Where is order 48271?")).heard
        after = await cluster.until(lambda now: are_ready(now) and now[free].report.process != old)
        assert set(after) == set(before)


async def test_a_drained_worker_keeps_its_call_and_another_takes_its_place(cluster: Cluster) -> None:
    async with calls(cluster, 1) as made:
        ((number, call),) = made
        assert (await cluster.command("drain", str(number)))[0] == 0
        states = await cluster.until(are_ready)
        assert states[number].is_draining
        assert max(states) == 4
        assert (await call.say("What time is it in Paris?")).heard
    await cluster.until(lambda now: number not in now)


async def test_a_wrong_number_is_one_line(cluster: Cluster) -> None:
    code, _, err = await cluster.command("drain", "77")
    assert code == 2
    assert err.startswith("error: there is no worker 77; there are: ")
    assert len(err.splitlines()) == 1


async def test_nothing_of_ray_listens_beyond_loopback_and_its_token_is_this_users(cluster: Cluster) -> None:
    listed = await asyncio.to_thread(subprocess.check_output, ["ss", "-Htlnp"], text=True)
    ours = [line.split() for line in listed.splitlines() if re.search("raylet|gcs_server|ray::", line)]
    assert ours
    assert [line[3] for line in ours if not re.match(r"(127\.|\[::ffff:127\.|\[::1\])", line[3])] == []
    assert stat.S_IMODE((cluster.data / FILE_NAME).stat().st_mode) == 0o600


async def test_no_worker_and_none_of_its_tools_sees_the_token(cluster: Cluster) -> None:
    for state in (await cluster.states()).values():
        variables = variables_of(state.report.process)
        assert "RAY_AUTH" not in variables
        assert "VOICEAGENT_CLUSTER_KEY" not in variables


async def test_down_ends_the_workers_and_the_gateway(cluster: Cluster) -> None:
    processes = [state.report.process for state in (await cluster.states()).values()]
    assert (await cluster.command("down"))[0] == 0
    assert await asyncio.to_thread(cluster.process.wait, 30) == 0
    assert not [process for process in processes if is_alive(process)]
    assert not (cluster.data / FILE_NAME).exists()
    assert "Traceback" not in (cluster.data / "log").read_text()


def is_alive(process: int) -> bool:
    return Path(f"/proc/{process}").exists()


def variables_of(process: int) -> str:
    return Path(f"/proc/{process}/environ").read_text()
