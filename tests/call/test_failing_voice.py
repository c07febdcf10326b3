"""The mouth with a voice that fails, and with one that is far ahead: neither keeps later audio from being heard."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from voiceagent.audio.format import FRAME_MS, PLAYED_HZ
from voiceagent.call.scope import CallClock, CallScope, CallTasks
from voiceagent.call.speaking import FAILED, Speaking
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.errors import EngineError
from voiceagent.media.playout import FULL_S, Playout
from voiceagent.tts.engine import SpeechChunk

LEVEL = 10_000
"""Of the first clause's samples; each later clause's are one louder."""


@dataclass(frozen=True)
class Planned:
    """How the voice says a clause."""

    chunk_ms: tuple[int, ...]
    fails: bool = False
    """After its last chunk."""
    turns: int = 0
    """Of the event loop that each chunk takes."""

    @property
    def samples(self) -> int:
        return sum(self.chunk_ms) * PLAYED_HZ // 1000


class PlannedVoice:
    """Is asked for clauses by their numbers."""

    sample_rate_hz = PLAYED_HZ

    def __init__(self, plan: Sequence[Planned]) -> None:
        self.plan = plan

    async def synthesise(self, text: str) -> AsyncGenerator[SpeechChunk, None]:
        clause = self.plan[int(text)]
        for ms in clause.chunk_ms:
            for _ in range(clause.turns):
                await asyncio.sleep(0)
            yield SpeechChunk(np.full(ms * PLAYED_HZ // 1000, LEVEL + int(text), np.int16), ())
        if clause.fails:
            raise EngineError("on purpose")

    async def close(self) -> None:
        pass


@dataclass
class Heard:
    """What the caller heard."""

    samples: Counter[int]
    """Of each clause."""
    events: list[ev.Event]
    most_queued_s: float


async def heard(plan: Sequence[Planned], replies: int = 1) -> Heard:
    """Let the clauses be said in that order, in so many replies, while a leg sends a frame in every turn of the event loop."""
    events: list[ev.Event] = []
    playout = Playout()
    found = Heard(Counter(), events, 0.0)

    def send() -> bool:
        found.most_queued_s = max(found.most_queued_s, playout.queued_ms / 1000)
        frame = playout.next_frame()
        found.samples.update(() if frame is None else (frame[frame >= LEVEL] - LEVEL).tolist())
        return frame is not None

    async with asyncio.TaskGroup() as group:
        tasks = CallTasks(group)
        speaking = Speaking(CallScope("call", CallClock(), tasks, events.append), PlannedVoice(plan), playout)
        share = -(-len(plan) // replies)
        for number in range(replies):
            clauses = range(len(plan))[number * share : (number + 1) * share]
            for index in clauses:
                speaking.speak(act.Speak(number, index - clauses.start, str(index)))
            while (speaking._worker is not None and not speaking._worker.done()) or send():
                send()
                await asyncio.sleep(0)
            playout.finish(number)
    assert playout.queued_ms == 0
    return found


async def test_after_a_voice_that_fails_at_its_second_chunk_the_next_reply_is_heard() -> None:
    got = await heard([Planned((100,), fails=True), Planned((400,))], replies=2)
    failed = [event for event in got.events if isinstance(event, ev.ClauseFailed)]
    assert [(event.reply_id, event.clause, event.error) for event in failed] == [(0, 0, FAILED)]
    assert got.samples[1] == 400 * PLAYED_HZ // 1000
    played = [event for event in got.events if isinstance(event, ev.Played) and event.reply_id == 1]
    assert played[-1].played_ms == 400


async def test_of_a_clause_that_fails_nothing_is_sent_after_the_conversation_was_told() -> None:
    got = await heard([Planned((100, 5000), fails=True, turns=3), Planned((400,))])
    failed_at = next(index for index, event in enumerate(got.events) if isinstance(event, ev.ClauseFailed))
    later = [event for event in got.events[failed_at:] if isinstance(event, ev.Played) and event.clause == 0]
    before = [event.played_ms for event in got.events[:failed_at] if isinstance(event, ev.Played)]
    assert all(event.played_ms <= max(before) + FRAME_MS for event in later)
    assert got.samples[1] == 400 * PLAYED_HZ // 1000


async def test_a_long_answer_is_said_whole_and_its_synthesis_waits_for_room() -> None:
    clause = Planned((1000,) * 7)
    got = await heard([clause] * 18)
    assert got.samples == dict.fromkeys(range(18), clause.samples)
    assert not [event for event in got.events if isinstance(event, ev.ClauseFailed)]
    assert got.most_queued_s <= FULL_S + 1


clauses = st.builds(Planned, st.lists(st.sampled_from([0, 20, 70, 200]), max_size=4).map(tuple), st.booleans(), st.integers(0, 6))


@given(st.lists(clauses, min_size=1, max_size=8), st.integers(1, 4))
@settings(max_examples=200, deadline=None)
def test_no_failed_clause_ever_blocks_later_audio(plan: list[Planned], replies: int) -> None:
    got = asyncio.run(heard(plan, replies))
    for index, clause in enumerate(plan):
        if clause.fails:
            assert got.samples[index] <= clause.samples
        else:
            assert got.samples[index] == clause.samples
