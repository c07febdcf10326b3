"""One turn and one interruption, as heard on the line. Only audio counts, sent and received: no event of either server is looked
at, so the same code times both."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import FRAME_MS
from voiceagent.audio.levels import VoicedSpan, VoicedTimeline, first_audible_sample
from voiceagent.errors import MediaError

RATE_HZ = 16_000
QUIET_MS = 500.0
"""The agent has finished when nothing was heard for this long: more than any pause between its sentences."""
ANSWER_TIMEOUT_S = 8.0
SAID_DBFS = -45.0
"""Level from which the caller takes audio for sound on its own side (`VoicedTimeline`)."""
INTERRUPT_AFTER_S = 0.4
"""After the answer's first sound."""

Speech = NDArray[np.int16]


class Leg(Protocol):
    """A caller's end of a call: `client.caller.Caller` by WebRTC, or a telephone."""

    @property
    def said(self) -> VoicedTimeline:
        """Times at which the caller spoke."""
        ...

    @property
    def heard(self) -> VoicedTimeline:
        """Times at which the agent was heard."""
        ...

    def say(self, pcm: Speech, rate_hz: int) -> None:
        """Queue speech."""
        ...

    async def wait_said(self) -> float:
        """Wait until all was said; when its last voiced sample was spoken."""
        ...

    async def wait_heard(self, after_ms: float) -> float:
        """Wait for the agent; when its first voiced sample from then on was heard."""
        ...

    async def wait_quiet(self, quiet_ms: float) -> float:
        """Wait until the agent was silent for so long; when its last voiced sample was heard."""
        ...


@dataclass(frozen=True, slots=True)
class Turn:
    """One question."""

    voice_to_voice_ms: float | None
    """From the end of the question to the first sound of the answer; None without an answer, or when the question was cut."""
    cut: bool
    """True if the agent was heard before the question was over."""


@dataclass(frozen=True, slots=True)
class Stop:
    """One interruption: from its onset to a last sound of the agent, in ms."""

    last_ms: float
    """To the last sound that began before the interruption was over, also that of an answer into a pause of it."""
    reply_ms: float
    """To the last sound of the reply that was interrupted: what begins again within `QUIET_MS` is that reply."""


async def greeted(caller: Leg) -> None:
    """Wait until the agent has greeted. Raises MediaError when it does not."""
    await _answer(caller, 0.0)
    await caller.wait_quiet(QUIET_MS)


async def ask(caller: Leg, question: Speech, end_ms: float | None = None) -> Turn:
    """Ask, and wait until the agent has finished. `end_ms`: where in the audio the caller has finished, if the room is heard
    after that. Raises MediaError when the call ends."""
    began_ms = _now_ms()
    caller.say(question, RATE_HZ)
    ended_ms = await caller.wait_said()
    onset_ms = caller.said.first_onset_after(began_ms - FRAME_MS)
    if end_ms is not None and onset_ms is not None:
        ended_ms = onset_ms + end_ms - first_audible_sample(question, RATE_HZ, SAID_DBFS) * 1000.0 / RATE_HZ
    cut = any(span.offset_ms > began_ms and span.onset_ms < ended_ms for span in caller.heard.spans)
    try:
        heard_ms = await _answer(caller, ended_ms)
    except TimeoutError:
        return Turn(None, cut)
    await caller.wait_quiet(QUIET_MS)
    return Turn(None if cut else heard_ms - ended_ms, cut)


async def interrupt(caller: Leg, question: Speech, interruption: Speech) -> Stop | None:
    """Ask, and speak into the answer. None when the answer was not heard, or was over by itself at the onset. Raises MediaError
    when the call ends."""
    caller.say(question, RATE_HZ)
    try:
        await _answer(caller, await caller.wait_said())
    except TimeoutError:
        return None
    await asyncio.sleep(INTERRUPT_AFTER_S)
    began_ms = _now_ms()
    caller.say(interruption, RATE_HZ)
    ended_ms = await caller.wait_said()
    onset_ms = caller.said.first_onset_after(began_ms - FRAME_MS)
    if onset_ms is None:
        raise MediaError("the interruption was not heard on the line; expected speech above the caller's threshold")
    stopped = stop(caller.heard.spans, onset_ms, ended_ms)
    with suppress(TimeoutError):
        await _answer(caller, ended_ms)
    await caller.wait_quiet(QUIET_MS)
    return stopped


def stop(heard: Sequence[VoicedSpan], onset_ms: float, ended_ms: float) -> Stop | None:
    """Returns the agent's stop for an interruption from `onset_ms` to `ended_ms`; None when it was silent at the onset."""
    if not any(span.onset_ms <= onset_ms < span.offset_ms for span in heard):
        return None
    last_ms = reply_ms = onset_ms
    for span in heard:
        if onset_ms < span.offset_ms and span.onset_ms < ended_ms:
            if span.onset_ms < reply_ms + QUIET_MS:
                reply_ms = min(span.offset_ms, ended_ms)
            last_ms = min(span.offset_ms, ended_ms)
    return Stop(last_ms - onset_ms, reply_ms - onset_ms)


async def _answer(caller: Leg, after_ms: float) -> float:
    """Returns the time at which the first sound after `after_ms` was heard. Raises TimeoutError."""
    async with asyncio.timeout(ANSWER_TIMEOUT_S):
        return await caller.wait_heard(after_ms)


def _now_ms() -> float:
    return time.monotonic() * 1000.0
