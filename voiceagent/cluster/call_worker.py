"""A worker's actor: it starts one worker process of the server on the machine where Ray has put it, and says whether that
lives. When the process dies, the actor dies with it, and Ray starts both again. When the actor dies, its process does: its
number is about to be another's."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from typing import NoReturn

from voiceagent.cluster.controller import WorkerOrder, WorkerReport
from voiceagent.cluster.plan import CLUSTER_KEY_VARIABLE, cluster_key
from voiceagent.cluster.ray_package import ray_module
from voiceagent.gateway.seat import WorkerSeat
from voiceagent.gateway.supervisor import STOP_S, port_shares, worker_command
from voiceagent.media.webrtc.ports import read_ports

NOT_FOR_TOOLS = ("RAY_", CLUSTER_KEY_VARIABLE)
"""Beginnings of variables that a worker, and the programs which its tools start, need not see."""
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """The options that all workers of a cluster have in common."""

    serve: tuple[str, ...] = ()
    """Options of `voiceagent serve`: the agent, the profile."""
    calls: int = 16
    """The most calls of each."""
    links: tuple[str, ...] = ()
    """`HOST:PORT` of each gateway, where workers find it. The first that lives counts the calls of each client."""
    host: str = ""
    """The host at which they take HTTP; empty: at the address by which Ray knows their machine."""
    ports: str = ""
    """The UDP ports of all workers, `FIRST-LAST`; empty: any free ones."""


class CallWorker:
    """Runs one worker process. Its first report starts it."""

    def __init__(self, order: WorkerOrder, options: WorkerOptions) -> None:
        self._order = order
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self._was_told_to_drain = False

    async def report(self) -> WorkerReport:
        """Tell whether the process lives."""
        if self._process is None:
            if self._was_told_to_drain:
                return WorkerReport(is_over=True)
            self._process = self._started()
        code = self._process.poll()
        if code:
            self._die(code)
        return WorkerReport(socket.gethostname(), self._process.pid, is_over=code is not None)

    async def drain(self) -> None:
        """Have the process take no more calls and end when its last has ended."""
        self._was_told_to_drain = True
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGUSR1)

    async def stop(self) -> None:
        """End the process, with its calls."""
        self._was_told_to_drain = True
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self._process.wait, STOP_S)

    def _started(self) -> subprocess.Popen[bytes]:
        options, order = self._options, self._order
        host = options.host or str(ray_module().util.get_node_ip_address())
        seat = WorkerSeat(
            order.number,
            max(1, order.slots // 2),  # those that drain use less of the language model's memory
            f"http://{host}:0",
            tuple(f"http://{link}" for link in options.links),
            os.getpid(),
            has_lines=False,
            key=cluster_key(),
            region=order.region,
        )
        ports = read_ports(options.ports)
        share = port_shares(ports, order.slots)[order.slot] if ports is not None else None
        command, environment = worker_command(seat, ["serve", *options.serve], options.calls, share)
        environment = {name: value for name, value in environment.items() if not name.startswith(NOT_FOR_TOOLS)}
        return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, preexec_fn=_end_with_parent)

    def _die(self, code: int) -> NoReturn:
        print(f"worker {self._order.number} ended with the exit code {code}", file=sys.stderr, flush=True)
        os._exit(1)  # Ray starts an actor again that has died, not one that says goodbye


def _end_with_parent() -> None:
    """Runs in the child: Linux kills it when its parent dies."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
