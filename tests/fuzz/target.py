"""What is fuzzed: a target takes one input after another; `Trial` gives them and watches what must not happen meanwhile."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

CORPUS = Path(__file__).parent / "corpus"
WORDS = Path(__file__).parent / "words"
MAX_INPUT_S = 10.0
"""How long one input may keep a target waiting, whatever for."""


def corpus(name: str) -> list[bytes]:
    """The inputs that are kept for a target, each a file."""
    return [file.read_bytes() for file in sorted((CORPUS / name).iterdir())]


def words(name: str) -> list[str]:
    """What means something in a text of this kind, one a line; and nothing."""
    return ["", *(WORDS / name).read_text().splitlines()]


class Finding(AssertionError):
    """An input did what none may do."""


class Target(ABC):
    """One part that reads what others send. Its methods run in one event loop."""

    name: str
    """Of its folder in the corpus."""
    examples: int
    """Inputs in `make test-attacks`."""
    max_cpu_s: float = 0.25
    """What one input may cost this process."""
    new_tasks: int = 0
    """How many tasks an input may leave behind, at most, however many inputs came before."""

    @abstractmethod
    def inputs(self) -> st.SearchStrategy[bytes]:
        """Mutations of the corpus."""

    async def open(self) -> None:  # noqa: B027  most have nothing to prepare
        """Before the first input."""

    @abstractmethod
    async def feed(self, data: bytes) -> None:
        """Take one input. Raises Finding, or whatever the part raised."""

    async def close(self) -> None:  # noqa: B027
        """After the last."""


class _Complaints(logging.Handler):
    """Errors, and whatever is logged with a traceback."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if record.exc_info or record.levelno >= logging.ERROR or "Traceback" in message:
            self.found.append(f"{message}\n{logging.Formatter().formatException(record.exc_info) if record.exc_info else ''}")


class Trial:
    """Gives a target inputs. `last` is the one that failed, as small as hypothesis could make it."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.last = b""
        self.tried = 0
        self._complaints = _Complaints()
        self._runner = asyncio.Runner()
        self._tasks = 0

    def __enter__(self) -> Trial:
        logging.getLogger().addHandler(self._complaints)
        loop = self._runner.get_loop()
        loop.set_exception_handler(self._on_exception)
        self._runner.run(self._open())
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self._runner.run(self.target.close())
            gc.collect()  # tasks tell of exceptions that nobody took when they are freed
        finally:
            self._runner.close()
            logging.getLogger().removeHandler(self._complaints)
        if error[0] is None:
            self._judge()

    def give(self, data: bytes) -> None:
        """One input. Raises what it must not lead to."""
        self.tried += 1
        try:
            self._runner.run(self._feed(data))
            self._judge()
        except BaseException:
            self.last = data
            raise

    def search(self, examples: int, number: int | None = None) -> None:
        """`examples` mutations, the same ones for each `number`. Raises what the smallest of those that failed led to."""
        phases = (Phase.generate, Phase.shrink)
        plan = settings(
            max_examples=examples,
            deadline=None,
            database=None,
            phases=phases,
            derandomize=number is None,
            suppress_health_check=list(HealthCheck),
            print_blob=False,
        )

        def one(data: bytes) -> None:
            self.give(data)

        test = plan(given(self.target.inputs())(one))
        (test if number is None else seed(number)(test))()

    async def _open(self) -> None:
        await self.target.open()
        self._tasks = len(asyncio.all_tasks())

    async def _feed(self, data: bytes) -> None:
        gc.disable()  # it would visit the objects of every test and of hypothesis, and that is no cost of the input
        try:
            began_s = time.thread_time()
            async with asyncio.timeout(MAX_INPUT_S):
                await self.target.feed(data)
            cpu_s = time.thread_time() - began_s
        finally:
            gc.enable()
        if cpu_s > self.target.max_cpu_s:
            raise Finding(f"{len(data)} bytes cost {cpu_s * 1000:.0f} ms; at most {self.target.max_cpu_s * 1000:.0f} are allowed")
        more = len(asyncio.all_tasks()) - self._tasks
        if more > self.target.new_tasks:
            raise Finding(f"{more} tasks are left; at most {self.target.new_tasks} are allowed: {asyncio.all_tasks()}")

    def _on_exception(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        text = logging.Formatter().formatException((type(error), error, error.__traceback__)) if error else ""
        self._complaints.found.append(f"{context.get('message')}\n{text}")

    def _judge(self) -> None:
        found, self._complaints.found = self._complaints.found, []
        if found:
            raise Finding("\n".join(found[:3])[-3000:])
