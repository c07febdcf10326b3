"""A voiceagent server in a process of its own, as its users run it: started for a benchmark, measured from outside, ended."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.program import answering


@dataclass(frozen=True, slots=True)
class Server:
    """A running server."""

    url: str
    process: psutil.Process
    data_dir: Path
    """The folder of its turn measurements."""

    def memory_mb(self) -> float:
        """Resident memory, in units of 10⁶ bytes."""
        return float(self.process.memory_info().rss) / 1e6


@asynccontextmanager
async def running(*options: str, program: Sequence[str] = ("voiceagent", "serve"), **environment: str) -> AsyncIterator[Server]:
    """Start `voiceagent serve` (or another Python program) with further options and variables, wait until it is ready, and stop
    it at the end. Raises RuntimeError with the end of its log when it does not become ready."""
    with tempfile.TemporaryDirectory(prefix="voiceagent-bench-") as name:
        folder = Path(name)
        command = (sys.executable, "-m", *program, "--port", "0", *options)
        async with answering(folder / "server.log", *command, VOICEAGENT_DATA=name, **environment) as (url, process):
            yield Server(url, process, folder)
