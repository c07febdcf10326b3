"""A voiceagent server in a process of its own, as its users run it: started for a benchmark, measured from outside, ended."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import psutil

READY_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 20.0
POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class Server:
    """A running server."""

    url: str
    process: psutil.Process
    data_dir: Path
    """Where it keeps its turn measurements."""
    log: Path

    def memory_mb(self) -> float:
        """Resident memory, in units of 10⁶ bytes."""
        return float(self.process.memory_info().rss) / 1e6


@asynccontextmanager
async def running(*options: str, program: Sequence[str] = ("voiceagent", "serve")) -> AsyncIterator[Server]:
    """Start `voiceagent serve` (or another Python program) with further options, wait until it is ready, and stop it at the end.
    Raises RuntimeError with the end of its log when it does not become ready."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="voiceagent-bench-") as name:
        folder = Path(name)
        log = folder / "server.log"
        command = [sys.executable, "-m", *program, "--port", str(port), *options]
        environment = {**os.environ, "VOICEAGENT_DATA": str(folder)}
        with log.open("wb") as output:
            child = await asyncio.create_subprocess_exec(*command, env=environment, stdout=output, stderr=output)
        server = Server(f"http://127.0.0.1:{port}", psutil.Process(child.pid), folder, log)
        try:
            await _ready(server, child)
            yield server
        finally:
            if child.returncode is None:
                child.terminate()
            try:
                async with asyncio.timeout(STOP_TIMEOUT_S):
                    await child.wait()
            except TimeoutError:
                child.kill()
                await child.wait()


async def _ready(server: Server, child: asyncio.subprocess.Process) -> None:
    deadline_s = time.monotonic() + READY_TIMEOUT_S
    async with aiohttp.ClientSession() as session:
        while time.monotonic() < deadline_s and child.returncode is None:
            try:
                async with session.get(f"{server.url}/readyz") as answer:
                    if answer.status == 200:
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(POLL_S)
    raise RuntimeError(f"the server did not become ready; its log ends: {server.log.read_text()[-2000:]}")
