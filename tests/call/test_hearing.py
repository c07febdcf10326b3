"""The ear, with a recogniser that takes its time on purpose."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import numpy as np
from numpy.typing import NDArray

from voiceagent.call.clock import CallClock
from voiceagent.call.hearing import Hearing
from voiceagent.call.tasks import CallTasks
from voiceagent.config import TurnSettings
from voiceagent.conversation import events as ev
from voiceagent.guard.checks import load_guards
from voiceagent.guard.settings import GuardSettings
from voiceagent.media.leg import HeardFrame
from voiceagent.stt.hypothesis import Hypothesis
from voiceagent.stt.options import StreamOptions
from voiceagent.vad.detector import SpeechOnset


class HeldRecogniser:
    """Decodes for as long as it is waited for."""

    max_audio_s = 30.0
    stream = StreamOptions()

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.given_up = False

    async def transcribe(
        self, audio: NDArray[np.float32], *, prompt: str = "", word_times: bool = False, final: bool = False
    ) -> Hypothesis:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.given_up = True
        raise AssertionError

    async def close(self) -> None: ...


async def silence() -> AsyncIterator[HeardFrame]:
    await asyncio.Event().wait()
    yield HeardFrame(np.zeros(320, np.int16), 0.0, False)


async def test_a_decode_does_not_outlive_its_call() -> None:
    recogniser = HeldRecogniser()
    posted: list[ev.Event] = []
    checks = load_guards(GuardSettings()).input
    async with asyncio.TaskGroup() as group:
        tasks = CallTasks(group)
        hearing = Hearing(recogniser, TurnSettings(min_speech_ms=0), CallClock(), tasks, posted.append, checks)
        tasks.start("leg", hearing.run(silence()))
        await asyncio.sleep(0)
        hearing._begin(SpeechOnset(200.0, 0.0, 200.0, 0.0, np.ones(6400, np.int16)))
        hearing.transcribe(1)
        await recogniser.begun.wait()
        tasks.cancel_all()
    assert recogniser.given_up
    assert [type(event) for event in posted] == [ev.SpeechStarted]
