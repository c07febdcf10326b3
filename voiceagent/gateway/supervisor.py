"""The worker processes of one machine: starts them by the same program, starts one anew that has ended, and ends them all. A
worker has a session of its own, so a terminal's signals reach it by the first process alone."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from voiceagent.errors import EngineError
from voiceagent.gateway.seat import VARIABLE, WorkerSeat
from voiceagent.media.webrtc.ports import PORTS_VARIABLE
from voiceagent.server.http.behind_front import UNIX
from voiceagent.server.http.service_manager import VARIABLE as NOTIFY_SOCKET
from voiceagent.task_owner import TaskOwner

log = logging.getLogger(__name__)

STOP_S = 5.5
"""Longest wait for workers that were asked to stop: each ends by itself within 5 s."""
FIRST_AGAIN_S, LONGEST_AGAIN_S = 0.25, 30.0
"""The wait before a worker is started anew: it doubles with each that ends early."""
STEADY_S = 60.0
"""A worker that has lived so long has not ended early."""


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """The shares of the workers."""

    arguments: Sequence[str]
    """Those of `voiceagent`, without what only the first process needs."""
    max_calls: Sequence[int]
    """The share of each worker."""
    ports: Sequence[range | None]
    """The UDP ports of each; None: any free one."""

    @property
    def count(self) -> int:
        """The number of workers."""
        return len(self.max_calls)


@dataclass(slots=True)
class Supervisor:
    """Keeps the workers up."""

    plan: WorkerPlan
    folder: Path
    """The folder of the sockets; it is this user's alone."""
    front: str
    """The address where the front takes links."""
    restarted: Callable[[int], None] = lambda number: None
    """Called with the number of a worker that is started anew."""
    processes: dict[int, asyncio.subprocess.Process] = field(default_factory=dict)
    _ready: set[int] = field(default_factory=set)
    """The workers of which any process has ever answered calls."""
    _is_draining: bool = False
    _ending: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once no worker is started anew."""
    _tasks: TaskOwner = field(default_factory=TaskOwner)
    _over: asyncio.Event = field(default_factory=asyncio.Event)
    _failure: str = ""
    _started: int = 0

    def open(self) -> None:
        """Start the workers."""
        for number in range(1, self.plan.count + 1):
            self._tasks.start_alone(self._keep(number), f"worker {number}")

    def answers(self, number: int) -> None:
        """A worker answers calls."""
        self._ready.add(number)
        process = self.processes.get(number)
        if self._is_draining and process is not None:  # it was still loading when all were told
            process.send_signal(signal.SIGUSR1)

    def drain(self) -> None:
        """Have all workers drain. None is started anew after that."""
        self.drains()
        self._signal(signal.SIGUSR1)

    def drains(self) -> None:
        """All workers were asked to drain, by a request."""
        self._is_draining = True
        self._ending.set()

    async def over(self) -> None:
        """Return once all workers have drained. Raises EngineError if they cannot answer calls."""
        await self._over.wait()
        if self._failure:
            raise EngineError(self._failure)

    async def stop(self) -> None:
        """End all workers, in the time that a server takes to stop."""
        self._ending.set()
        self._signal(signal.SIGTERM)
        await self._tasks.finished(STOP_S)
        self.kill()
        await self._tasks.finished(1.0)
        await self._tasks.close()

    def kill(self) -> None:
        """End all workers at once."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        for process in self.processes.values():
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(number)

    async def _keep(self, number: int) -> None:
        """Keep one worker up until the server ends."""
        wait_s, loop = FIRST_AGAIN_S, asyncio.get_running_loop()
        while not self._ending.is_set():
            begun_s = loop.time()
            code = await self._lived(number)
            if self._ending.is_set():
                break
            if not self._ready:
                self._failure = f"worker {number} ended with exit code {code} before it answered calls; its lines above say why"
                break
            if code == 0:
                log.warning("worker %d has drained; it is started anew", number)
            else:
                log.error("worker %d has ended (%s); it is started anew", number, _told(code))
            wait_s = FIRST_AGAIN_S if code == 0 or loop.time() - begun_s >= STEADY_S else min(2 * wait_s, LONGEST_AGAIN_S)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._ending.wait()
                break
            self.restarted(number)
        if self._failure or not self.processes:
            self._over.set()

    async def _lived(self, number: int) -> int:
        """Start a worker; returns its exit code."""
        self._started += 1  # a socket of its own for each process: what is said of the last one is not said of the next
        address = f"{UNIX}{self.folder / f'{number}-{self._started}'}"
        seat = WorkerSeat(number, self.plan.count, address, (self.front,), os.getpid(), has_lines=number == 1)
        calls, ports = self.plan.max_calls[number - 1], self.plan.ports[number - 1]
        command, environment = worker_command(seat, self.plan.arguments, calls, ports)
        process = self.processes[number] = await asyncio.create_subprocess_exec(
            *command, env=environment, stdin=asyncio.subprocess.DEVNULL, start_new_session=True
        )
        try:
            return await process.wait()
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
            self.processes.pop(number, None)


def _told(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def worker_command(
    seat: WorkerSeat, arguments: Sequence[str], max_calls: int, ports: range | None
) -> tuple[list[str], dict[str, str]]:
    """The command of a worker, and its environment, in which alone its seat stands. `arguments` are those of `voiceagent`,
    beginning with `serve`; `ports` are its UDP ports, None: any free one."""
    environment = {name: value for name, value in os.environ.items() if name != NOTIFY_SOCKET} | {VARIABLE: seat.written()}
    if ports is not None:
        environment[PORTS_VARIABLE] = f"{ports[0]}-{ports[-1]}"
    return [sys.executable, "-m", "voiceagent", *arguments, "--max-calls", str(max_calls)], environment


def shares(whole: int, count: int) -> list[int]:
    """A whole in parts that differ by one at most, the larger first."""
    return [whole // count + (number < whole % count) for number in range(count)]


def port_shares(ports: range, count: int) -> list[range]:
    """A range of ports in parts that follow each other."""
    found, first = [], ports.start
    for size in shares(len(ports), count):
        found.append(range(first, first + size))
        first += size
    return found
