"""Measures the cost of windows of several calls in one run of the model, against a run each, and how many share one when calls
stream at once."""

from __future__ import annotations

import asyncio
import functools
import time
import unittest.mock
from collections.abc import Callable, Sequence
from typing import Any

import ctranslate2
import numpy as np
from numpy.typing import NDArray

from bench.harness import Figure
from bench.stt.shapes import END_OF_TEXT, MEL_BANDS, SHAPES, START, random_whisper
from bench.stt.speech import Spoken
from bench.stt.streaming import Listener
from voiceagent.stt.hypothesis import DecodeWindow, Hypothesis
from voiceagent.stt.whisper import WhisperEngine

RATE_HZ = 16_000
WINDOWS = 8
REPEATS = 10
SHAPE_FRAMES = 500
SHAPE_TOKENS = 12


def cost_of_eight(engine: WhisperEngine, audios: Sequence[NDArray[np.int16]]) -> list[Figure]:
    """One run of eight windows of two seconds against eight runs, in CPU time: the bundled model, and the base shape."""
    windows = [
        DecodeWindow(audio[: 2 * RATE_HZ].astype(np.float32) / np.float32(32768)) for audio in audios if len(audio) >= 2 * RATE_HZ
    ][:WINDOWS]
    together = _cpu_ms(lambda: engine.decoder.decode(windows))
    alone = _cpu_ms(lambda: [engine.decoder.decode([window]) for window in windows])
    shape = SHAPES[0]
    model = ctranslate2.models.Whisper(str(random_whisper(shape)), device="cpu", compute_type="int8", intra_threads=1)
    shape_together, shape_alone = (_cpu_ms(functools.partial(_decode, model, size)) for size in (WINDOWS, 1))
    return [
        Figure("8 windows in one run against 8 runs, CPU: bundled model", round(together / alone, 2), "×", "", True),
        Figure(
            f"8 windows in one run against 8 runs, CPU: {shape.name} shape", round(shape_together / shape_alone, 2), "×", "", True
        ),
    ]


async def streams_at_once(engine: WhisperEngine, utterances: Sequence[Spoken]) -> list[Figure]:
    """As many calls as windows, each streaming its share of the utterances, against one call streaming them all."""
    audio_s = sum(len(spoken.audio) for spoken in utterances) / RATE_HZ
    sizes: list[int] = []
    decode = engine.decoder.decode

    def counted(windows: Sequence[DecodeWindow]) -> list[Hypothesis]:
        sizes.append(len(windows))
        return decode(windows)

    async def call(share: Sequence[Spoken]) -> None:
        listener = Listener(engine)
        for spoken in share:
            await listener.hear(spoken)

    with unittest.mock.patch.object(engine.decoder, "decode", counted):
        costs = []
        for calls in (1, WINDOWS):
            sizes.clear()
            began_s = time.process_time()
            await asyncio.gather(*(call(utterances[first::calls]) for first in range(calls)))
            costs.append((time.process_time() - began_s) / audio_s)
    return [
        Figure(f"{WINDOWS} calls at once: windows in a run", round(sum(sizes) / len(sizes), 2), "", "", True),
        Figure(
            f"{WINDOWS} calls at once, CPU with the VAD's: against one after the other",
            round(costs[1] / costs[0], 2),
            "×",
            "",
            True,
        ),
    ]


def _decode(model: Any, size: int) -> None:
    """`WINDOWS` windows, `size` in a run."""
    features = np.zeros((size, MEL_BANDS, SHAPE_FRAMES), np.float32)
    for _ in range(WINDOWS // size):
        encoded = model.encode(ctranslate2.StorageView.from_array(features), to_cpu=False)
        model.generate(encoded, [list(START)] * size, beam_size=1, max_length=2 * SHAPE_TOKENS, suppress_tokens=[END_OF_TEXT])


def _cpu_ms(work: Callable[[], object]) -> float:
    work()
    began_s = time.process_time()
    for _ in range(REPEATS):
        work()
    return (time.process_time() - began_s) * 1000 / REPEATS
