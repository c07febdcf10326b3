"""A log of what a streaming recogniser asks of its model, and its repetition on a model of another shape. What is logged is the
work alone: seconds of audio turned into features, runs of the encoder, tokens that the decoder wrote. Needs nothing but
CTranslate2 and faster-whisper, so that the peer's environment can run it too."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
from faster_whisper.feature_extractor import FeatureExtractor

from bench.stt.shapes import END_OF_TEXT, MEL_BANDS, START, START_OF_PREVIOUS

RATE_HZ = 16_000
Step = tuple[str, int, int, int]
"""`features`, samples, 0, 0 · `encode`, 0, 0, 0 · `generate`, tokens before the start, tokens written, beams · `align`, tokens,
0, 0."""


@dataclass(slots=True)
class Decode:
    """One decode of a stretch of audio."""

    at_ms: float
    """Time of its beginning, since the beginning of the utterance."""
    steps: list[Step] = field(default_factory=list)


class LoggedModel:
    """A `ctranslate2.models.Whisper` that logs what it does into `log`'s last decode."""

    def __init__(self, model: Any, log: list[Decode]) -> None:
        self._model = model
        self._log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def encode(self, features: Any, **options: Any) -> Any:
        """As CTranslate2's."""
        self._log[-1].steps.append(("encode", 0, 0, 0))
        return self._model.encode(features, **options)

    def generate(self, features: Any, prompts: Sequence[Sequence[int]], **options: Any) -> Any:
        """As CTranslate2's."""
        results = self._model.generate(features, prompts, **options)
        beams = max(options.get("beam_size", 1), options.get("num_hypotheses", 1))
        for prompt, result in zip(prompts, results, strict=True):
            written = len(result.sequences_ids[0]) + 1
            self._log[-1].steps.append(("generate", max(0, len(prompt) - len(START)), written, beams))
        return results

    def align(self, features: Any, start: Sequence[int], tokens: Sequence[Sequence[int]], *others: Any, **options: Any) -> Any:
        """As CTranslate2's."""
        self._log[-1].steps += [("align", len(ids), 0, 0) for ids in tokens]
        return self._model.align(features, start, tokens, *others, **options)


class LoggedExtractor:
    """A faster-whisper feature extractor that logs how much audio it is given."""

    def __init__(self, extractor: Any, log: list[Decode]) -> None:
        self._extractor = extractor
        self._log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._extractor, name)

    def __call__(self, waveform: Any, *others: Any, **options: Any) -> Any:
        """As faster-whisper's."""
        self._log[-1].steps.append(("features", len(waveform), 0, 0))
        return self._extractor(waveform, *others, **options)


class Repeater:
    """Repeats logged decodes on a model with random weights.

    Args:
        folder: the model, in CTranslate2's format.
        frames_of: feature frames (of 10 ms) handed to the encoder for so many samples of audio.
    """

    def __init__(self, folder: Path, frames_of: Callable[[int], int]) -> None:
        self._model = ctranslate2.models.Whisper(str(folder), device="cpu", compute_type="int8", inter_threads=1, intra_threads=1)
        self._features = FeatureExtractor()
        self._frames_of = frames_of
        self._rng = np.random.default_rng(0)

    def repeat(self, decodes: Sequence[Decode]) -> tuple[float, list[float]]:
        """Repeat an utterance's decodes in virtual time: one that would begin while another still runs is left out, as in a call.
        Returns CPU seconds, and when each decode that was made ended, in milliseconds since the utterance began."""
        began_s = time.process_time()
        ended_ms: list[float] = []
        for index, decode in enumerate(decodes):
            last = index == len(decodes) - 1
            if ended_ms and decode.at_ms < ended_ms[-1] and not last:
                continue
            decode_s = time.perf_counter()
            self._decode(decode.steps)
            at_ms = max(decode.at_ms, ended_ms[-1]) if ended_ms else decode.at_ms
            ended_ms.append(at_ms + (time.perf_counter() - decode_s) * 1000)
        return time.process_time() - began_s, ended_ms

    def _decode(self, steps: Sequence[Step]) -> None:
        samples = 0
        encoded: Any = None
        for kind, first, second, third in steps:
            if kind == "features":
                samples = first
                self._features(self._rng.normal(0, 0.1, samples).astype(np.float32))
            elif kind == "encode":
                features = self._rng.normal(0, 0.5, (1, MEL_BANDS, self._frames_of(samples))).astype(np.float32)
                encoded = self._model.encode(ctranslate2.StorageView.from_array(features), to_cpu=False)
            elif kind == "generate":
                self._generate(encoded, first, second, third)
            else:
                self._model.align(encoded, list(START[:-1]), [list(range(100, 100 + first))], self._frames_of(samples))

    def _generate(self, encoded: Any, before: int, tokens: int, beams: int) -> None:
        previous = [START_OF_PREVIOUS, *range(100, 99 + before)] if before else []
        prompt = [*previous, *START]
        self._model.generate(
            encoded,
            [prompt],
            beam_size=beams,
            max_length=max(2 * tokens, len(prompt) + tokens),
            suppress_tokens=[END_OF_TEXT],
            return_scores=True,
            return_no_speech_prob=True,
        )
