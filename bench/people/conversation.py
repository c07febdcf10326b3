"""One call in which a person's turns are spoken to an agent, whoever made it. Only audio counts, sent and received: when the
agent was first heard after the person had begun, against the end of the turn."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from bench.people.material import Spoken
from bench.trial import greeted
from tests.people.people import RATE_HZ
from voiceagent.audio.format import FRAME_MS, PLAYED_HZ
from voiceagent.audio.levels import VoicedTimeline
from voiceagent.client.caller import Caller
from voiceagent.errors import MediaError

ANSWER_TIMEOUT_S = 8.0
QUIET_MS = 900.0
"""The agent has finished when nothing was heard for this long. A small language model stops for a moment between sentences."""
SOONEST_MS = 300.0
"""Earliest sound after the person's first one that counts; an earlier one belongs to the turn before."""
LONGEST_ANSWER_S = 30.0
ANY_SOUND_DBFS = -120.0
"""The audio has noise from its first sample, so its first sound on the line is that sample."""


@dataclass(frozen=True, slots=True)
class Heard:
    """The outcome of one turn."""

    said: Spoken
    at_ms: float | None
    """Time at which the agent was first heard, from the end of the turn; before it: negative. None: not within
    `ANSWER_TIMEOUT_S`."""

    @property
    def cut(self) -> bool:
        """True if the agent was heard before the caller had finished."""
        return self.at_ms is not None and self.at_ms < 0


@dataclass(slots=True)
class Found:
    """The measurements of one contestant's calls."""

    turns: list[Heard] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


async def converse(caller_type: type[Caller], url: str, said: Sequence[Spoken], found: Found) -> None:
    """Say the turns one after the other. An agent that hangs up is called again for the rest."""
    waiting = deque(said)
    while waiting:
        left = len(waiting)
        caller = caller_type(url)
        caller.said = VoicedTimeline(PLAYED_HZ, threshold_dbfs=ANY_SOUND_DBFS)
        try:
            async with caller:
                await greeted(caller)
                while waiting and not caller.end_reason:
                    found.turns.append(await say(caller, waiting.popleft()))
        except (MediaError, TimeoutError) as error:
            found.problems.append(str(error) or f"{url}: no greeting")
        if len(waiting) == left:
            return


async def say(caller: Caller, said: Spoken) -> Heard:
    """Say a turn, wait for the answer and until it is over. Raises MediaError when the call ends before all was said."""
    before_ms = _now_ms() - FRAME_MS
    caller.say(said.audio, RATE_HZ)
    await caller.wait_said()
    began_ms = caller.said.first_onset_after(before_ms) or before_ms
    end_ms = began_ms + said.end_ms
    with suppress(TimeoutError, MediaError):
        async with asyncio.timeout(ANSWER_TIMEOUT_S - (_now_ms() - end_ms) / 1000.0):
            await caller.wait_until(lambda: (caller.heard.last_voiced_ms or 0.0) > end_ms)
    onset_ms = caller.heard.first_onset_after(began_ms + said.start_ms + SOONEST_MS)
    with suppress(TimeoutError, MediaError):
        async with asyncio.timeout(LONGEST_ANSWER_S):
            await caller.wait_quiet(QUIET_MS)
    return Heard(said, None if onset_ms is None else round(onset_ms - end_ms, 1))


def _now_ms() -> float:
    return time.monotonic() * 1000.0
