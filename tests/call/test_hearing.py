"""The ear, with a recogniser that takes its time on purpose."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.fakes import HeldRecogniser
from tests.people.muffled import muffled
from tests.people.people import recordings
from tests.speech import frames, said
from tests.speech import silence as quiet
from voiceagent.call.hearing import OVERLAP_MS, Hearing
from voiceagent.call.scope import CallClock, CallScope, CallTasks
from voiceagent.conversation import events as ev
from voiceagent.errors import EngineError
from voiceagent.guard.checks import load_guards
from voiceagent.guard.settings import GuardSettings
from voiceagent.media.leg import InboundFrame
from voiceagent.settings.agent import TurnSettings
from voiceagent.stt.hypothesis import Hypothesis, RecognisedWord
from voiceagent.turn_taking.overlap import UNLIKE_WORDS
from voiceagent.vad.detector import SpeechOnset, SpeechProgress


async def silence() -> AsyncIterator[InboundFrame]:
    await asyncio.Event().wait()
    yield InboundFrame(np.zeros(320, np.int16), 0.0, False)


async def test_a_decode_does_not_outlive_its_call() -> None:
    recogniser = HeldRecogniser()
    posted: list[ev.Event] = []
    checks = load_guards(GuardSettings()).input
    async with asyncio.TaskGroup() as group:
        tasks = CallTasks(group)
        hearing = Hearing(CallScope("call", CallClock(), tasks, posted.append), recogniser, TurnSettings(min_speech_ms=0), checks)
        tasks.start("leg", hearing.run(silence()))
        await asyncio.sleep(0)
        hearing._begin(SpeechOnset(200.0, 0.0, 200.0, 0.0, np.ones(6400, np.int16)))
        hearing.transcribe(1)
        await recogniser.begun.wait()
        tasks.cancel_all()
    assert recogniser.given_up
    assert [type(event) for event in posted] == [ev.SpeechStarted]


class SlowRecogniser(HeldRecogniser):
    """Takes 100 ms for a decode."""

    def __init__(self) -> None:
        super().__init__()
        self.decodes = 0

    async def transcribe(self, audio: NDArray[np.float32], **_: Any) -> Hypothesis:
        self.decodes += 1
        await asyncio.sleep(0.1)
        return Hypothesis((RecognisedWord("yes", 0.0, 0.2, 1.0),), 0.0, -0.1, 1.0)


async def test_partial_decodes_that_cost_much_come_more_seldom() -> None:
    recogniser = SlowRecogniser()
    posted: asyncio.Queue[ev.Event] = asyncio.Queue()
    checks = load_guards(GuardSettings()).input
    settings = TurnSettings(partial_interval_ms=180)
    frames: list[int] = []
    async with asyncio.TaskGroup() as group:
        tasks = CallTasks(group)
        hearing = Hearing(CallScope("call", CallClock(), tasks, posted.put_nowait), recogniser, settings, checks)
        hearing._begin(SpeechOnset(200.0, 0.0, 200.0, 0.0, np.ones(6400, np.int16)))
        transcriber = hearing._transcriber
        assert transcriber is not None
        assert isinstance(await posted.get(), ev.SpeechStarted)
        for _ in range(2):
            frames.append(0)
            while not hearing._decoding:
                transcriber.feed(np.ones(320, np.int16), 0.0)
                hearing._maybe_partial(transcriber)
                frames[-1] += 1
            assert isinstance(await posted.get(), ev.Transcript)
    assert frames[0] == 9, "180 ms"
    assert frames[1] >= 16, "100 ms are three tenths of 333 ms"


@pytest.mark.parametrize(("fewer", "frames"), [(False, 9), (True, 27)])
async def test_partial_decodes_are_a_third_as_many_while_the_budgets_ask_for_it(fewer: bool, frames: int) -> None:
    recogniser = SlowRecogniser()
    posted: asyncio.Queue[ev.Event] = asyncio.Queue()
    checks = load_guards(GuardSettings()).input
    settings = TurnSettings(partial_interval_ms=180, min_speech_ms=0)
    async with asyncio.TaskGroup() as group:
        tasks = CallTasks(group)
        hearing = Hearing(CallScope("call", CallClock(), tasks, posted.put_nowait), recogniser, settings, checks)
        hearing.fewer_partials = fewer
        hearing._begin(SpeechOnset(200.0, 0.0, 200.0, 0.0, np.ones(6400, np.int16)))
        transcriber = hearing._transcriber
        assert transcriber is not None
        hearing._decode_early(transcriber)
        assert hearing._early is not fewer, "nothing is decoded before the pause"
        fed = 0
        while not hearing._decoding:
            transcriber.feed(np.ones(320, np.int16), 0.0)
            hearing._maybe_partial(transcriber)
            fed += 1
        tasks.cancel_all()
    assert fed == frames


class UrgentRecogniser(SlowRecogniser):
    """Knows which of its decodes were urgent."""

    def __init__(self) -> None:
        super().__init__()
        self.urgent: list[bool] = []

    async def transcribe(self, audio: NDArray[np.float32], urgent: bool = False, **_: Any) -> Hypothesis:
        self.urgent.append(urgent)
        return await super().transcribe(audio)


async def test_what_is_said_over_the_agent_is_decoded_at_once_and_told_frame_by_frame() -> None:
    recogniser = UrgentRecogniser()
    posted: asyncio.Queue[ev.Event] = asyncio.Queue()
    checks = load_guards(GuardSettings()).input
    async with asyncio.TaskGroup() as group:
        tasks = CallTasks(group)
        hearing = Hearing(CallScope("call", CallClock(), tasks, posted.put_nowait), recogniser, TurnSettings(), checks)
        hearing._begin(SpeechOnset(60.0, 0.0, 60.0, 0.0, np.ones(6400, np.int16)))
        hearing.attend(1)
        transcriber = hearing._transcriber
        assert transcriber is not None
        for voiced_ms in (130.0, 150.0):
            hearing._voiced_ms = voiced_ms
            transcriber.feed(np.ones(320, np.int16), 0.0)
            hearing._attend_to(SpeechProgress(voiced_ms, 0.0, voiced_ms))
            hearing._maybe_partial(transcriber)
        told = [await posted.get() for _ in range(4)]
        assert [type(event) for event in told] == [ev.SpeechStarted, ev.OverlapHeard, ev.OverlapHeard, ev.Transcript]
        assert [event.voiced_ms for event in told if isinstance(event, ev.OverlapHeard)] == [130.0, 150.0]
        assert recogniser.urgent == [True]
        hearing._attend_to(SpeechProgress(OVERLAP_MS, 0.0, OVERLAP_MS))
        assert posted.empty(), "later it is an utterance like others"


class QuickRecogniser(HeldRecogniser):
    """Counts its decodes."""

    def __init__(self) -> None:
        super().__init__()
        self.finals = 0
        self.decoded = asyncio.Event()
        self.text = "yes"

    async def transcribe(self, audio: NDArray[np.float32], final: bool = False, **_: Any) -> Hypothesis:
        self.finals += final
        self.decoded.set()
        return Hypothesis(tuple(RecognisedWord(word, 0.0, 0.2, 1.0) for word in self.text.split()), 0.0, -0.1, 1.0)


@pytest.mark.parametrize(("load", "early"), [(0.2, 1), (0.6, 0)], ids=["a machine with room", "a busy machine"])
async def test_a_short_silence_is_decoded_before_it_is_a_pause_where_there_is_room(load: float, early: int) -> None:
    recogniser = QuickRecogniser()
    posted: asyncio.Queue[ev.Event] = asyncio.Queue()
    checks = load_guards(GuardSettings()).input
    async with asyncio.TaskGroup() as group:
        tasks = CallTasks(group)
        settings = TurnSettings(partial_interval_ms=10_000)
        hearing = Hearing(CallScope("call", CallClock(), tasks, posted.put_nowait), recogniser, settings, checks, lambda: load)
        hearing._begin(SpeechOnset(400.0, 0.0, 400.0, 0.0, np.ones(6400, np.int16)))
        hearing._voiced_ms = 400.0
        transcriber = hearing._transcriber
        assert transcriber is not None
        hearing._recent.append(np.ones(6400, np.int16))
        for silence_ms in (20.0, 40.0, 60.0, 80.0):
            transcriber.feed(np.zeros(320, np.int16), silence_ms)
            hearing._follow(transcriber, SpeechProgress(400.0, silence_ms, 400.0))
        if early:
            await recogniser.decoded.wait()
        assert recogniser.finals == early
        transcriber.feed(np.zeros(320, np.int16), 100.0)
        hearing._follow(transcriber, SpeechProgress(400.0, 100.0, 400.0))
        hearing.transcribe(1)
        kinds = [type(await posted.get()) for _ in range(3)]
        assert kinds == [ev.SpeechStarted, ev.SpeechPaused, ev.FinalTranscript]
        assert recogniser.finals == 1, "the pause is decoded once"


async def test_speech_that_goes_on_drops_what_was_decoded_early() -> None:
    recogniser = HeldRecogniser()
    posted: list[ev.Event] = []
    checks = load_guards(GuardSettings()).input
    async with asyncio.TaskGroup() as group:
        tasks = CallTasks(group)
        hearing = Hearing(CallScope("call", CallClock(), tasks, posted.append), recogniser, TurnSettings(), checks)
        hearing._begin(SpeechOnset(400.0, 0.0, 400.0, 0.0, np.ones(6400, np.int16)))
        hearing._voiced_ms = 400.0
        transcriber = hearing._transcriber
        assert transcriber is not None
        hearing._follow(transcriber, SpeechProgress(400.0, 64.0, 400.0))
        await recogniser.begun.wait()
        transcriber.feed(np.ones(320, np.int16), 0.0)
        hearing._follow(transcriber, SpeechProgress(420.0, 0.0, 420.0))
        assert transcriber._final is None
        assert not hearing._early, "the next silence is decoded anew"
    assert recogniser.given_up
    assert [type(event) for event in posted] == [ev.SpeechStarted]


async def test_speech_that_goes_on_softly_begins_another_pause() -> None:
    recogniser = QuickRecogniser()
    posted: asyncio.Queue[ev.Event] = asyncio.Queue()
    checks = load_guards(GuardSettings()).input
    async with asyncio.TaskGroup() as group:
        tasks = CallTasks(group)
        hearing = Hearing(CallScope("call", CallClock(), tasks, posted.put_nowait), recogniser, TurnSettings(), checks)
        hearing._begin(SpeechOnset(400.0, 0.0, 400.0, 0.0, np.ones(6400, np.int16)))
        hearing._recent.append(np.ones(6400, np.int16))
        hearing._voiced_ms = 400.0
        transcriber = hearing._transcriber
        assert transcriber is not None
        for silence_ms, last_voiced_ms in ((100.0, 400.0), (120.0, 400.0), (200.0, 460.0)):
            transcriber.feed(np.zeros(320, np.int16), silence_ms)
            hearing._follow(transcriber, SpeechProgress(400.0, silence_ms, last_voiced_ms))
        events = [await posted.get() for _ in range(4)]
        assert [type(event) for event in events] == [ev.SpeechStarted, ev.SpeechPaused, ev.SpeechResumed, ev.SpeechPaused]
        assert [event.speech_end_ms for event in events if isinstance(event, ev.SpeechPaused)] == [400.0, 460.0]
        assert posted.empty()
        tasks.cancel_all()


class BrokenRecogniser(HeldRecogniser):
    """Fails on purpose."""

    async def transcribe(self, audio: NDArray[np.float32], **options: Any) -> Hypothesis:
        raise EngineError("on purpose")


@pytest.mark.parametrize("change", [lambda audio: audio, muffled], ids=["clear", "muffled"])
async def test_a_pause_tells_that_the_sound_before_it_is_words(change: Callable[[NDArray[np.int16]], NDArray[np.int16]]) -> None:
    person = next(each for each in recordings("utterances") if each.path.stem == "pvcheeta011")
    posted: list[ev.Event] = []
    async with asyncio.TaskGroup() as group:
        tasks = CallTasks(group)
        scope = CallScope("call", CallClock(), tasks, posted.append)
        hearing = Hearing(scope, QuickRecogniser(), TurnSettings(partial_interval_ms=10_000), load_guards(GuardSettings()).input)
        for frame in frames(quiet(900), change(person.audio()), quiet(300)):
            hearing._hear(InboundFrame(frame, 0.0, False))
        tasks.cancel_all()
    pauses = [event for event in posted if isinstance(event, ev.SpeechPaused)]
    assert pauses[-1].voiced_ms > 3000
    assert pauses[-1].words_chance is not None
    assert pauses[-1].words_chance > UNLIKE_WORDS


@pytest.mark.parametrize("breaks", [True, False])
async def test_a_recogniser_that_fails_is_told_from_one_that_understands_nothing(breaks: bool) -> None:
    posted: asyncio.Queue[ev.Event] = asyncio.Queue()
    recogniser = BrokenRecogniser() if breaks else QuickRecogniser()
    if isinstance(recogniser, QuickRecogniser):
        recogniser.text = ""
    async with asyncio.TaskGroup() as group:
        tasks = CallTasks(group)
        scope = CallScope("call", CallClock(), tasks, posted.put_nowait)
        hearing = Hearing(scope, recogniser, TurnSettings(partial_interval_ms=10_000), load_guards(GuardSettings()).input)
        for frame in frames(quiet(900), said("What time is it in Paris?", "en-gb-x-rp"), quiet(160)):
            hearing._hear(InboundFrame(frame, 0.0, False))
        hearing.transcribe(1)
        while not isinstance(event := await posted.get(), ev.FinalTranscript):
            pass
        assert (event.text, event.failed) == ("", breaks)
        tasks.cancel_all()


@pytest.mark.parametrize(("understood", "carried"), [("", True), ("What", False)], ids=["nothing", "a word"])
async def test_a_sound_that_nothing_was_understood_of_begins_the_next_utterance(understood: str, carried: bool) -> None:
    """Silero can take the beginning of a soft word for a blip, and hear speech again 300 ms later."""
    sound = said("What", "en-gb-x-rp")
    posted: asyncio.Queue[ev.Event] = asyncio.Queue()
    checks = load_guards(GuardSettings()).input
    recogniser = QuickRecogniser()
    recogniser.text = understood
    async with asyncio.TaskGroup() as group:
        tasks = CallTasks(group)
        settings = TurnSettings(partial_interval_ms=10_000)
        hearing = Hearing(CallScope("call", CallClock(), tasks, posted.put_nowait), recogniser, settings, checks)
        for frame in frames(quiet(900), sound, quiet(160)):
            hearing._hear(InboundFrame(frame, 0.0, False))
        hearing.transcribe(1)
        while not isinstance(event := await posted.get(), ev.FinalTranscript):
            pass
        assert event.text == understood
        hearing.discard(1)
        for frame in frames(said("time is it in Paris?", "en-gb-x-rp")):
            hearing._hear(InboundFrame(frame, 0.0, False))
        assert hearing._utterance_id == 2
        transcriber = hearing._transcriber
        assert transcriber is not None
        audio = transcriber._audio.between(transcriber._audio.start, transcriber._audio.end)
        loudest = max(frames(sound), key=lambda frame: int(np.abs(frame).max())).astype(np.float32) / 32768
        assert any(np.array_equal(audio[at : at + 320], loudest) for at in range(0, len(audio), 320)) == carried
        tasks.cancel_all()
