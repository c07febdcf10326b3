"""Windowing on a recogniser whose truth is exact: its words are tones, so every cut and every lost word shows. (The
same with Whisper and real speech stands in test_whisper.)"""

from __future__ import annotations

import asyncio
import itertools
import tracemalloc
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from voiceagent.errors import EngineError
from voiceagent.stt.engine import DecodeDropped, Policy, StreamOptions
from voiceagent.stt.gates import GateLimits
from voiceagent.stt.hypothesis import Hypothesis, RecognisedWord
from voiceagent.stt.stream import PROMPT_WORDS, AudioWindow, FinalText, UtteranceTranscriber
from voiceagent.turn_taking.patience import ExpectedValue

WORD_SAMPLES = 4800
GAP_SAMPLES = 1600
FRAME = 320


def spoken(*numbers: int) -> NDArray[np.int16]:
    """Word n is 300 ms at a level of 1000 + 10 n, then 100 ms of silence."""
    parts = [np.concatenate([np.full(WORD_SAMPLES, 1000 + 10 * n), np.zeros(GAP_SAMPLES)]) for n in numbers]
    return np.concatenate(parts).astype(np.int16)


@dataclass
class LevelRecogniser:
    """Reads `spoken` audio; only whole words are words."""

    max_audio_s: float = 5.0
    stream: StreamOptions = field(default_factory=StreamOptions)
    decodes: list[float] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    mark: str = ""
    """Written behind the last word."""
    hold: asyncio.Event | None = None
    error: Exception | None = None
    dropped_partials: int = 0

    async def transcribe(self, audio: NDArray[np.float32], prompt: str = "", **_: Any) -> Hypothesis:
        self.decodes.append(len(audio) / 16000)
        self.prompts.append(prompt)
        assert len(audio) / 16000 <= self.max_audio_s
        if self.hold is not None:
            await self.hold.wait()
        if self.error is not None:
            raise self.error
        levels = np.round(audio * 32768).astype(int)
        edges = np.flatnonzero(np.diff(levels, prepend=0, append=0))
        words = [
            RecognisedWord(f"w{(levels[a] - 1000) // 10}", a / 16000, b / 16000, 1.0)
            for a, b in itertools.pairwise(edges)
            if levels[a] >= 1000 and b - a == WORD_SAMPLES
        ]
        if words:
            words[-1] = replace(words[-1], text=words[-1].text + self.mark)
        return Hypothesis(tuple(words), 0.0, -0.1, 1.0)

    async def close(self) -> None: ...


async def stream(
    transcriber: UtteranceTranscriber, audio: NDArray[np.int16], every: int = 10, silence_ms: float = 0.0
) -> list[tuple[str, str]]:
    """Feed in frames, ask for a partial every so many."""
    partials = []
    for index, at in enumerate(range(0, len(audio) - FRAME + 1, FRAME)):
        transcriber.feed(audio[at : at + FRAME], silence_ms)
        if index % every == every - 1 and (partial := await transcriber.partial()) is not None:
            partials.append((partial.stable, partial.unstable))
    return partials


def names(count: int) -> str:
    return " ".join(f"w{n}" for n in range(count))


async def said(transcriber: UtteranceTranscriber) -> FinalText:
    final = await transcriber.final()
    assert final is not None
    return final


async def test_partials_grow_and_the_final_has_all_words() -> None:
    transcriber = UtteranceTranscriber(LevelRecogniser())
    transcriber.begin(7, spoken(0))
    partials = await stream(transcriber, spoken(1, 2, 3))
    assert partials[-1] == (names(3), "w3")
    for (before, _), (after, _) in itertools.pairwise(partials):
        assert after.startswith(before)
    final = await said(transcriber)
    assert (final.utterance_id, final.text) == (7, names(4))


async def test_with_alignatt_words_are_stable_one_decode_sooner() -> None:
    stable = {}
    for policy in ("agreement", "alignatt"):
        transcriber = UtteranceTranscriber(LevelRecogniser(), StreamOptions(policy=policy, edge_ms=400))
        transcriber.begin(1, spoken(0, 1))
        partial = await transcriber.partial()
        assert partial is not None
        stable[policy] = (partial.stable, partial.unstable)
    assert stable == {"agreement": ("", "w0 w1"), "alignatt": ("w0", "w1")}


async def test_a_long_utterance_keeps_all_words_in_a_bounded_window() -> None:
    engine = LevelRecogniser()
    transcriber = UtteranceTranscriber(engine)
    transcriber.begin(1, np.zeros(FRAME, np.int16))
    audio = spoken(*range(150))
    tracemalloc.start()
    partials = await stream(transcriber, audio)
    current, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (await said(transcriber)).text == names(150)
    stable, unstable = partials[-1]
    assert f"{stable} {unstable}".strip() == names(150)
    assert max(engine.decodes) <= 0.6 * engine.max_audio_s + 1.0
    assert current < 500_000


@pytest.mark.parametrize("policy", ["agreement", "alignatt"])
async def test_a_monologue_of_ten_minutes_costs_the_same_at_its_end_as_at_its_start(policy: Policy) -> None:
    engine = LevelRecogniser(max_audio_s=10.0)
    transcriber = UtteranceTranscriber(engine, StreamOptions(policy=policy))
    transcriber.begin(1, np.zeros(FRAME, np.int16))
    audio = spoken(*range(1500))
    await stream(transcriber, audio, every=20)
    early, late = (engine.decodes[part] for part in (slice(50, 250), slice(-200, None)))
    assert sum(late) == pytest.approx(sum(early), rel=0.05)
    assert max(engine.decodes) <= 0.6 * engine.max_audio_s + 1.0
    assert len(engine.prompts[-1].split()) == PROMPT_WORDS
    assert len(engine.decodes) == len(audio) // FRAME // 20
    assert (await said(transcriber)).text == names(1500)
    assert engine.decodes[-1] <= 0.6 * engine.max_audio_s + 1.0


async def test_words_without_pauses_that_never_agree_still_do_not_grow_the_window() -> None:
    engine = LevelRecogniser()
    transcriber = UtteranceTranscriber(engine)
    transcriber.begin(1, np.zeros(FRAME, np.int16))
    await stream(transcriber, np.full(16000 * 30, 500, np.int16))
    assert max(engine.decodes) <= engine.max_audio_s
    assert (await said(transcriber)).text == ""


async def test_without_any_partial_the_final_is_decoded_in_pieces() -> None:
    engine = LevelRecogniser()
    transcriber = UtteranceTranscriber(engine)
    transcriber.begin(1, spoken(*range(60)))
    assert (await said(transcriber)).text == names(60)
    assert len(engine.decodes) >= 5


async def test_a_late_partial_catches_up_window_by_window() -> None:
    transcriber = UtteranceTranscriber(LevelRecogniser())
    transcriber.begin(1, spoken(*range(60)))
    last = None
    while (partial := await transcriber.partial()) is not None:
        last = partial
    assert last is not None
    assert f"{last.stable} {last.unstable}".strip() == names(60)


async def test_silence_is_never_decoded() -> None:
    engine = LevelRecogniser()
    transcriber = UtteranceTranscriber(engine, StreamOptions(pad_ms=200))
    transcriber.begin(1, spoken(0, 1))
    assert await transcriber.partial() is not None
    for index in range(50):
        transcriber.feed(np.zeros(FRAME, np.int16), 100 + (index + 1) * 20)
        assert await transcriber.partial() is None
    await transcriber.final()
    assert engine.decodes[-1] == 0.8 + 0.2
    assert len(engine.decodes) == 2


async def test_a_final_begun_in_the_pause_costs_nothing_at_the_end() -> None:
    engine = LevelRecogniser()
    transcriber = UtteranceTranscriber(engine)
    transcriber.begin(1, spoken(0, 1))
    early = await transcriber.final()
    for index in range(10):
        transcriber.feed(np.zeros(FRAME, np.int16), (index + 1) * 20)
    assert await transcriber.final() is early
    assert len(engine.decodes) == 1


async def test_new_speech_drops_a_final_that_was_begun() -> None:
    engine = LevelRecogniser(hold=asyncio.Event())
    transcriber = UtteranceTranscriber(engine)
    transcriber.begin(1, spoken(0))
    early = asyncio.create_task(transcriber.final())
    await asyncio.sleep(0)
    assert await transcriber.partial() is None
    transcriber.feed(spoken(1), 0)
    assert await early is None
    assert engine.hold is not None
    engine.hold.set()
    assert (await said(transcriber)).text == names(2)


async def resumed(engine: LevelRecogniser, pause_ms: int) -> tuple[FinalText, UtteranceTranscriber]:
    """Two words, a pause in whose beginning a final is decoded, and a third word."""
    options = StreamOptions(sentence_pause_ms=200, cut_pause_ms=600)
    transcriber = UtteranceTranscriber(engine, options)
    transcriber.begin(1, spoken(0, 1))
    await transcriber.final()
    for index in range(pause_ms // 20):
        transcriber.feed(np.zeros(FRAME, np.int16), (index + 1) * 20)
    transcriber.feed(spoken(2), 0)
    return await said(transcriber), transcriber


async def test_a_sentence_that_ended_in_a_pause_is_not_decoded_again_when_speech_goes_on() -> None:
    engine = LevelRecogniser(mark=".")
    final, _ = await resumed(engine, 300)
    assert final.text == "w0 w1. w2."
    assert engine.decodes[-1] == pytest.approx(0.4 + 0.2)
    assert engine.prompts[-1] == "w0 w1."


@pytest.mark.parametrize(("mark", "pause_ms"), [(".", 180), ("", 300), (",", 580)])
async def test_a_short_pause_or_one_inside_a_sentence_is_no_cut(mark: str, pause_ms: int) -> None:
    engine = LevelRecogniser(mark=mark)
    final, _ = await resumed(engine, pause_ms)
    assert final.text == f"w0 w1 w2{mark}"
    assert engine.decodes[-1] == pytest.approx(1.2 + pause_ms / 1000)


async def test_a_long_pause_inside_a_sentence_is_a_cut() -> None:
    engine = LevelRecogniser()
    final, _ = await resumed(engine, 640)
    assert final.text == "w0 w1 w2"
    assert engine.decodes[-1] == pytest.approx(0.4 + 0.54)


async def test_the_middle_of_a_long_pause_is_not_decoded() -> None:
    engine = LevelRecogniser()
    transcriber = UtteranceTranscriber(engine, StreamOptions(longest_pause_ms=300))
    transcriber.begin(1, spoken(0, 1))
    for index in range(40):
        transcriber.feed(np.zeros(FRAME, np.int16), (index + 1) * 20)
    for part in (2, 3):
        transcriber.feed(spoken(part), 0)
    assert (await said(transcriber)).text == names(4)
    assert engine.decodes == [pytest.approx(0.8 + 0.3 + 0.8)]


async def test_partials_behind_a_cut_go_on_from_the_committed_words() -> None:
    engine = LevelRecogniser(mark=".")
    _, transcriber = await resumed(engine, 300)
    transcriber.feed(spoken(3), 0)
    partial = await transcriber.partial()
    assert partial is not None
    assert (partial.stable, partial.unstable) == ("w0 w1.", "w2 w3.")


async def test_what_a_gate_refused_in_the_pause_is_decoded_again() -> None:
    engine = LevelRecogniser(mark=".")
    transcriber = UtteranceTranscriber(engine, StreamOptions(sentence_pause_ms=0, limits=GateLimits(words_per_second=0.0)))
    transcriber.begin(1, spoken(0, 1, 2))
    assert (await said(transcriber)).rejected == "too_many_words"
    transcriber.feed(np.zeros(FRAME * 15, np.int16), 300)
    transcriber.feed(spoken(3), 0)
    await said(transcriber)
    assert engine.decodes[-1] > 1.6


async def test_a_partial_of_an_utterance_that_is_over_is_dropped() -> None:
    engine = LevelRecogniser(hold=asyncio.Event())
    transcriber = UtteranceTranscriber(engine)
    transcriber.begin(1, spoken(0))
    late = asyncio.create_task(transcriber.partial())
    await asyncio.sleep(0)
    transcriber.begin(2, spoken(5))
    assert engine.hold is not None
    engine.hold.set()
    assert await late is None
    assert (await said(transcriber)).text == "w5"


async def test_a_dropped_decode_is_no_partial() -> None:
    transcriber = UtteranceTranscriber(LevelRecogniser(error=DecodeDropped("busy")))
    transcriber.begin(1, spoken(0))
    assert await transcriber.partial() is None


async def test_an_error_is_told_and_the_next_final_tries_again() -> None:
    engine = LevelRecogniser(error=EngineError("broken"))
    transcriber = UtteranceTranscriber(engine)
    transcriber.begin(1, spoken(0))
    with pytest.raises(EngineError, match="broken"):
        await transcriber.final()
    engine.error = None
    assert (await said(transcriber)).text == "w0"


async def test_what_a_gate_refuses_is_no_text() -> None:
    transcriber = UtteranceTranscriber(LevelRecogniser())
    transcriber.begin(1, spoken(4, 4, 4, 4, 4))
    final = await said(transcriber)
    assert (final.text, final.rejected) == ("", "repetition")


async def test_closing_frees_the_audio() -> None:
    transcriber = UtteranceTranscriber(LevelRecogniser(hold=asyncio.Event()))
    transcriber.begin(1, spoken(0))
    final = asyncio.create_task(transcriber.final())
    await asyncio.sleep(0)
    await transcriber.close()
    assert await final is None


def test_a_window_knows_its_place_in_the_utterance() -> None:
    window = AudioWindow()
    for start in range(0, 1000, 100):
        window.append(np.arange(start, start + 100, dtype=np.int16))
    window.let_go(250)
    assert (window.start, window.end) == (250, 1000)
    assert np.array_equal(np.round(window.between(250, 260) * 32768), np.arange(250, 260))
    window.leave_out(300, 900)
    assert (window.start, window.end) == (250, 400)
    assert np.array_equal(np.round(window.between(298, 302) * 32768), [298, 299, 900, 901])
    window.let_go(400)
    assert (window.start, window.end) == (400, 400)


class ExpectingRecogniser(LevelRecogniser):
    """Hears values better where they were asked for."""

    def expecting(self, value: ExpectedValue) -> LevelRecogniser:
        return LevelRecogniser(mark="!")


@pytest.mark.parametrize(("recogniser", "text"), [(LevelRecogniser(), "w1"), (ExpectingRecogniser(), "w1!")])
async def test_a_recogniser_may_make_use_of_the_value_that_was_asked_for_or_not(recogniser: LevelRecogniser, text: str) -> None:
    transcriber = UtteranceTranscriber(recogniser)
    transcriber.begin(1, spoken(1))
    transcriber.expect(ExpectedValue(digits=True))
    final = await transcriber.final()
    assert final is not None
    assert final.text == text
