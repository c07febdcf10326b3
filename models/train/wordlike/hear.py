"""Hears sounds as a call does, each several times: faster or slower, brighter or duller, on some noise, through Opus or G.711.
For several lengths of the sound so far, it gives the figures of `voiceagent/audio/wordlike.py`."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.virtual_call import through_opus
from models.train.wordlike.material import RATE_HZ, Clip, Pcm
from voiceagent.audio.format import HEARD_FRAME_SAMPLES
from voiceagent.audio.resample import resample
from voiceagent.audio.wordlike import LEAD_MS, MAX_SOUND_SAMPLES, figures
from voiceagent.vad.detector import DetectorOptions, SpeechDetector, SpeechOnset

LENGTHS_MS = (60, 100, 140, 180, 220, 260, 300, 360, 420, 500, 600, 700, 800, 1000, 1200)
TELEPHONE_HZ = 8000
PREROLL_MS = 400.0
BEFORE_S, AFTER_S = 0.5, 0.4
TIMES, TIMES_RARE = 2, 12
"""How often a sound is heard, and one of a rare kind."""
RARE = {"cough", "laugh", "hum"}


@dataclass(frozen=True, slots=True)
class Heard:
    """A sound so far."""

    kind: str
    group: str
    length_ms: int
    figures: NDArray[np.float32]


def heard(clips: Iterable[Clip]) -> Iterator[Heard]:
    """All sounds, as often and at as many lengths as the detector takes them for speech."""
    for clip in clips:
        if clip.kind == "words" and not clip.group.startswith(("u-", "t-")) and zlib.crc32(clip.name.encode()) % 5 < 2:
            continue  # there are enough of them
        for time in range(TIMES_RARE if clip.kind in RARE else TIMES):
            rng = np.random.default_rng(zlib.crc32(f"{clip.group}{clip.name}{time}".encode()))
            yield from _lengths(clip, _line(_varied(clip.pcm, rng, as_it_is=time == 0), telephone=time % 2 == 1))


def _varied(pcm: Pcm, rng: np.random.Generator, *, as_it_is: bool) -> Pcm:
    sound = pcm.astype(np.float64)
    speed, tilt = (1.0, 0.0) if as_it_is else (rng.uniform(0.85, 1.18), rng.uniform(-0.5, 0.5))
    sound = np.interp(np.arange(0, len(sound) - 1, speed), np.arange(len(sound)), sound)
    sound = sound / np.abs(sound).max() * rng.uniform(0.08, 0.6) * 32767
    sound = np.append(sound[0], sound[1:] + tilt * sound[:-1])
    sound = np.concatenate([np.zeros(int(BEFORE_S * RATE_HZ)), sound, np.zeros(int(AFTER_S * RATE_HZ))])
    noise = rng.standard_normal(len(sound)) * 10 ** (rng.uniform(-75, -50) / 20) * 32767
    return np.clip(sound + noise, -32768, 32767).astype(np.int16)


def _line(pcm: Pcm, *, telephone: bool) -> Pcm:
    return resample(resample(pcm, RATE_HZ, TELEPHONE_HZ), TELEPHONE_HZ, RATE_HZ) if telephone else through_opus(pcm)


def _lengths(clip: Clip, line: Pcm) -> Iterator[Heard]:
    detector = SpeechDetector(DetectorOptions(preroll_ms=PREROLL_MS))
    onset_ms, left = 0.0, list(LENGTHS_MS)
    for start in range(0, len(line) - HEARD_FRAME_SAMPLES + 1, HEARD_FRAME_SAMPLES):
        end = start + HEARD_FRAME_SAMPLES
        now_ms = end * 1000 / RATE_HZ
        progress = detector.feed(line[start:end], now_ms)
        if progress is None:
            continue
        if isinstance(progress, SpeechOnset):
            onset_ms = progress.onset_ms
        if progress.silence_ms >= 100 or not left:
            return
        due = [length for length in left if now_ms - onset_ms >= length]
        if due and progress.silence_ms < 60:
            left = left[len(due) :]
            first = max(0, int((onset_ms - LEAD_MS) * RATE_HZ / 1000), end - MAX_SOUND_SAMPLES)
            yield Heard(clip.kind, clip.group, due[-1], figures(line[first:end]))
