"""A server run as a program of its own for a benchmark: started, waited for, ended."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import psutil

READY_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 20.0
ROOT = Path(__file__).resolve().parents[1]


@asynccontextmanager
async def answering(log: Path, *command: str, **environment: str) -> AsyncIterator[tuple[str, psutil.Process]]:
    """Run a program that prints `answers at URL` once it is ready; the URL and its process. Its errors go to `log`. Raises
    RuntimeError with the log's end when it does not become ready."""
    with log.open("wb") as errors:
        child = await asyncio.create_subprocess_exec(
            *command, env=_environment(environment), stdout=asyncio.subprocess.PIPE, stderr=errors, cwd=ROOT
        )
    try:
        yield await _url(child, log), psutil.Process(child.pid)
    finally:
        if child.returncode is None:
            child.terminate()
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await child.wait()
        except TimeoutError:
            child.kill()
            await child.wait()


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    """This process's, unbuffered, with one thread for NumPy where nothing else is said."""
    return {"OPENBLAS_NUM_THREADS": "1", **os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", **more}


async def _url(child: asyncio.subprocess.Process, log: Path) -> str:
    assert child.stdout is not None
    with suppress(TimeoutError):
        async with asyncio.timeout(READY_TIMEOUT_S):
            async for line in child.stdout:
                _, said, url = line.decode().partition("answers at ")
                if said:
                    return url.strip()
    raise RuntimeError(f"{log.stem} did not become ready; its log ends: {_end_of(log)}")


def _end_of(log: Path) -> str:
    return log.read_text(encoding="utf-8")[-2000:]
