"""The mouth with a voice whose silences are known to the sample."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import numpy as np
import pytest

from voiceagent.audio.format import PLAYED_HZ
from voiceagent.call.scope import CallClock, CallScope, CallTasks
from voiceagent.call.speaking import KEPT_MS, MAX_TRIMMED_MS, Speaking
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.media.playout import Playout
from voiceagent.tts.engine import SpeechChunk


class LateVoice:
    """Says one word after so much silence, in chunks of 60 ms."""

    sample_rate_hz = PLAYED_HZ

    def __init__(self, silence_ms: int) -> None:
        self.silence_ms = silence_ms
        tone = (8000 * np.cos(np.arange(PLAYED_HZ // 2) / 10)).astype(np.int16)
        self.audio = np.concatenate([np.zeros(silence_ms * PLAYED_HZ // 1000, np.int16), tone])

    async def synthesise(self, text: str) -> AsyncGenerator[SpeechChunk, None]:
        step = PLAYED_HZ * 60 // 1000
        for start in range(0, len(self.audio), step):
            word = ev.SpokenWord(text, float(self.silence_ms), float(self.silence_ms + 500))
            begins = start <= self.silence_ms * PLAYED_HZ // 1000 < start + step
            yield SpeechChunk(self.audio[start : start + step], (word,) if begins else ())

    async def close(self) -> None:
        pass


async def spoken(silence_ms: int, clause: int = 0) -> tuple[list[ev.ClauseAudio], int]:
    """The events of a clause, and how many of its samples there were to send before the first sound."""
    events: list[ev.Event] = []
    playout = Playout()
    async with asyncio.TaskGroup() as group:
        speaking = Speaking(CallScope("call", CallClock(), CallTasks(group), events.append), LateVoice(silence_ms), playout)
        speaking.speak(act.Speak(1, clause, "hello"))
    audio = []
    while (frame := playout.next_frame()) is not None:
        audio.append(frame)
    found = [event for event in events if isinstance(event, ev.ClauseAudio)]
    assert found[-1].complete
    return found, int(np.flatnonzero(abs(np.concatenate(audio)) > 300)[0])


@pytest.mark.parametrize("silence_ms", [0, 5, 40, 60, 130, 195])
async def test_the_silence_before_a_reply_is_not_sent_and_its_words_are_earlier_by_it(silence_ms: int) -> None:
    events, lead = await spoken(silence_ms)
    assert lead <= (KEPT_MS + 5) * PLAYED_HZ / 1000
    (word,) = events[-1].words
    assert word.start_ms == pytest.approx(lead * 1000 / PLAYED_HZ, abs=1.5)
    assert word.end_ms - word.start_ms == pytest.approx(500)
    assert events[-1].duration_ms == pytest.approx(500 + lead * 1000 / PLAYED_HZ, abs=1.0)


async def test_a_long_silence_is_meant_and_only_its_beginning_is_left_out() -> None:
    _, lead = await spoken(900)
    assert lead == pytest.approx((900 - MAX_TRIMMED_MS) * PLAYED_HZ / 1000, abs=2)


async def test_a_pause_between_clauses_stays() -> None:
    events, lead = await spoken(130, clause=1)
    assert lead == pytest.approx(130 * PLAYED_HZ / 1000, abs=2)
    assert events[-1].words[0].start_ms == 130


class BriefVoice(LateVoice):
    """Says a sound of so many samples, and nothing else."""

    def __init__(self, samples: int) -> None:
        super().__init__(0)
        self.audio = self.audio[:samples]


@pytest.mark.parametrize("samples", [1, 48, 119])
async def test_a_first_clause_of_a_millisecond_is_sent(samples: int) -> None:
    events: list[ev.Event] = []
    playout = Playout()
    async with asyncio.TaskGroup() as group:
        speaking = Speaking(CallScope("call", CallClock(), CallTasks(group), events.append), BriefVoice(samples), playout)
        speaking.speak(act.Speak(1, 0, "hello"))
    (last,) = [event for event in events if isinstance(event, ev.ClauseAudio) and event.complete]
    assert last.duration_ms == pytest.approx(samples * 1000 / PLAYED_HZ, abs=0.1)
    frame = playout.next_frame()
    assert frame is not None
    assert np.any(np.abs(frame) > 300)
