"""The health of the engines. Each use of an engine in a call is noted here, and its failure. An engine that fails is probed by
itself. It is down if it fails there, too, or three times in a row in calls. It is up again once it has worked."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

import numpy as np

from voiceagent.call.scope import EngineName
from voiceagent.conversation.history import Message
from voiceagent.engines import Engines
from voiceagent.errors import EngineError
from voiceagent.task_owner import running

log = logging.getLogger(__name__)

Probe = Callable[[], Awaitable[None]]
"""Uses an engine once. Raises EngineError."""
NAMES: Mapping[EngineName, str] = {"stt": "speech recognition", "llm": "the language model", "tts": "the voice"}
MAX_FAILURES = 3
"""The failures in a row after which an engine is down, although it works when it is probed by itself."""
SILENT_S = 5.0
"""Longest silence of a language model that is probed by itself, without even a sign that it thinks. After it the model fails."""
TOO_LATE = "too_late"


@dataclass(frozen=True, slots=True)
class ProbeTimes:
    """The times of probing engines by themselves."""

    timeout_s: float = 60.0
    """The longest that an engine may take. A language model may think for long."""
    every_s: float = 5.0
    """The interval at which an engine that is down is probed again."""
    look_every_s: float = 30.0
    """The interval at which the language model's server is probed, used or not."""


PROBE_TIMES = ProbeTimes()


class EngineHealth:
    """One per server. Only the event loop's thread uses it. Make it inside the event loop."""

    def __init__(self, times: ProbeTimes = PROBE_TIMES) -> None:
        self.times = times
        self.problems: dict[EngineName, Counter[str]] = {name: Counter() for name in NAMES}
        """The failures of each engine in calls, counted by a slug."""
        self.down: dict[EngineName, str] = {}
        """The engines that do not work, and how they failed."""
        self._in_a_row: Counter[EngineName] = Counter()
        self._doubted: set[EngineName] = set()
        self._wake = asyncio.Event()

    @property
    def reason(self) -> str:
        """The reason for which callers get no answers, in one sentence. Empty if they do."""
        if not self.down:
            return ""
        broken = " and ".join(f"{NAMES[name]} fails ({problem})" for name, problem in sorted(self.down.items()))
        return f"{broken[0].upper()}{broken[1:]}; the server's log says why."

    def used(self, engine: EngineName, problem: str) -> None:
        """An engine was used in a call. `problem` is a slug, empty if it worked."""
        if not problem:
            self._in_a_row[engine] = 0
            self._up(engine)
            return
        self.problems[engine][problem] += 1
        self._in_a_row[engine] += 1
        if self._in_a_row[engine] >= MAX_FAILURES:
            self._fail(engine, problem)
        self.doubt(engine)

    def doubt(self, engine: EngineName) -> None:
        """Have the engine asked by itself."""
        self._doubted.add(engine)
        self._wake.set()

    @asynccontextmanager
    async def watched(self, probes: Mapping[EngineName, Probe], look: Probe) -> AsyncIterator[None]:
        """Ask the engines that failed, and those that are down, until this is left. `look` asks the language model at no cost:
        see `llm.engine.check`."""
        async with running(self._watch(probes, look), "engine health"):
            yield

    async def _watch(self, probes: Mapping[EngineName, Probe], look: Probe) -> None:
        while True:
            wait_s = self.times.every_s if self.down else self.times.look_every_s
            try:
                async with asyncio.timeout(wait_s):
                    await self._wake.wait()
            except TimeoutError:
                if "llm" not in self.down:
                    await self._ask("llm", look)
            self._wake.clear()
            asked, self._doubted = self._doubted | self.down.keys(), set()
            await asyncio.gather(*(self._ask(name, probes[name]) for name in sorted(asked)))

    async def _ask(self, engine: EngineName, probe: Probe) -> None:
        try:
            async with asyncio.timeout(self.times.timeout_s):
                await probe()
        except TimeoutError:
            self._fail(engine, TOO_LATE)
        except EngineError as error:
            if engine not in self.down:
                log.error("%s: %s", NAMES[engine], error)
            self._fail(engine, error.kind)
        else:
            # One more failure in a call puts it down at once: what works by itself may still fail there.
            self._in_a_row[engine] = min(self._in_a_row[engine], MAX_FAILURES - 1)
            self._up(engine)

    def _fail(self, engine: EngineName, problem: str) -> None:
        if engine not in self.down:
            log.error("%s is down (%s); callers get no answers", NAMES[engine], problem)
        self.down[engine] = problem

    def _up(self, engine: EngineName) -> None:
        if self.down.pop(engine, None) is not None:
            log.warning("%s works again", NAMES[engine])


def probes_of(engines: Engines, instructions: str, silent_s: float = SILENT_S) -> dict[EngineName, Probe]:
    """A probe of each engine, which uses it once: a second of silence, two words said by each voice, a reply to a greeting. A
    language model fails if nothing comes from it for `silent_s`."""

    async def hear() -> None:
        await engines.stt.transcribe(np.zeros(16_000, np.float32), final=True)

    async def speak() -> None:
        for voice in (engines.tts, *engines.voices.values()):
            async for _ in voice.synthesise("Hello."):
                pass

    async def think() -> None:
        session = engines.llm.open("probe")
        try:
            prompt = [Message("system", instructions), Message("user", "Hello.")]
            async with aclosing(session.generate(prompt, [])) as stream, asyncio.timeout(silent_s) as silence:
                async for _ in stream:
                    silence.reschedule(asyncio.get_running_loop().time() + silent_s)
        except TimeoutError as error:
            raise EngineError(f"nothing came from it for {silent_s:g} s", TOO_LATE) from error
        finally:
            await session.close()

    return {"stt": hear, "llm": think, "tts": speak}
