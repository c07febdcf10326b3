"""Measures what a published recogniser hears, and what it costs, by how much padding its encoder is given behind the audio. All
settings decode an utterance before the next one is decoded, so that whatever else the machine does meets all of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bench.stt.speech import RATE_HZ, Spoken
from bench.stt.spelling import word_errors
from voiceagent.stt.decoder import BatchDecoder
from voiceagent.stt.hypothesis import DecodeWindow
from voiceagent.stt.short_whisper import MAX_FRAMES, MICRO_MIN_FRAMES, Fill, ShortWhisper

LEAD_S, TAIL_S = 0.1, 0.2
"""Silence around the audio, as a call's windows have it."""


@dataclass(frozen=True, slots=True)
class Padding:
    """One setting."""

    name: str
    margin_frames: int
    margin_fill: Fill = 0.0
    min_frames: int = MICRO_MIN_FRAMES
    step_frames: int = 50
    loop_penalty: float = 1.1


PADDED = Padding("padded to 30 s", 0, step_frames=MAX_FRAMES, loop_penalty=1.0)


@dataclass(slots=True)
class Heard:
    """The results of some utterances under one setting."""

    pairs: list[tuple[str, str]] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    again: int = 0
    """Decodes that ended in a loop and were written once more."""

    def errors(self, language: str = "en") -> float:
        """Word error rate in per cent."""
        return word_errors(self.pairs, language)


def load(folder: Path) -> ShortWhisper:
    """A recogniser as the profiles run it: 8-bit weights on one thread."""
    return ShortWhisper(str(folder), device="cpu", compute_type="int8", cpu_threads=1, local_files_only=True)


def heard(
    model: ShortWhisper, settings: Sequence[Padding], utterances: Sequence[Spoken], language: str = "en"
) -> dict[str, Heard]:
    """Every setting's result, by its name."""
    decoders = [BatchDecoder(model, languages=(language,), loop_penalty=setting.loop_penalty) for setting in settings]
    found = {setting.name: Heard() for setting in settings}
    for spoken in utterances:
        audio = np.pad(spoken.audio.astype(np.float32) / np.float32(32768), (int(LEAD_S * RATE_HZ), int(TAIL_S * RATE_HZ)))
        for setting, decoder in zip(settings, decoders, strict=True):
            model.margin_frames, model.margin_fill = setting.margin_frames, setting.margin_fill
            model.min_frames, model.step_frames = setting.min_frames, setting.step_frames
            began_s = time.process_time()
            (hypothesis,) = decoder.decode([DecodeWindow(audio)])
            result = found[setting.name]
            result.cpu_ms.append((time.process_time() - began_s) * 1000)
            result.pairs.append((spoken.text, hypothesis.text))
            result.again = decoder.written_again
    return found
