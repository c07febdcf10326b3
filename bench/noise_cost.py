"""Measures the cost of cleaning one leg's audio: time of the event loop, delay, memory."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator

import numpy as np

from bench.harness import Figure, at_most, plain
from bench.noise_material import RATE_HZ
from voiceagent.audio.voice_processing import VoiceProcessor
from voiceagent.latency.budgets import percentile
from voiceagent.media.audio_cleaner import AudioCleaner, AudioCleaning

ECHO = AudioCleaning(echo_cancellation=True)
NOISE = AudioCleaning(noise_suppression=True)
BOTH = AudioCleaning(echo_cancellation=True, noise_suppression=True)
TIMED_FRAMES = 2000


def cost() -> Iterator[Figure]:
    """Yields the cost for one leg, on one core."""
    rng = np.random.default_rng(0)
    audio, sent = (rng.standard_normal((TIMED_FRAMES, samples)) * 3000 for samples in (320, 480))
    for name, cleaning in (("echo", ECHO), ("noise", NOISE), ("echo and noise", BOTH)):
        cleaner = AudioCleaner(cleaning)
        taken_ms: list[float] = []
        for number in range(TIMED_FRAMES):
            frame, played = audio[number].astype(np.int16), sent[number].astype(np.int16)
            began = time.thread_time()
            cleaner.played(played, number * 20.0)
            cleaner.clean(frame, number * 20.0 + 20.0)
            taken_ms.append((time.thread_time() - began) * 1000)
        cleaner.close()
        yield at_most(f"{name}: CPU for a frame of 20 ms, p50", round(percentile(taken_ms, 50), 3), 0.5, "ms")
        yield plain(f"{name}: the same p99", percentile(taken_ms, 99), "ms", 3)
        yield plain(f"{name}: the voice detector hears it later by", _delay_ms(cleaning), "ms")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cleaners = [AudioCleaner(BOTH) for _ in range(40)]
    for number in range(20):
        for cleaner in cleaners:
            cleaner.clean(audio[number].astype(np.int16), number * 20.0)
    grown_mb = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 / len(cleaners)
    for cleaner in cleaners:
        cleaner.close()
    yield plain("echo and noise: memory a call", grown_mb, "MB", 2)


def _delay_ms(cleaning: AudioCleaning) -> float:
    """Returns the delay with which a click in noise comes out."""
    rng = np.random.default_rng(1)
    audio = rng.standard_normal(100 * 320) * 300
    audio[16_000] = 30_000
    echo = [VoiceProcessor(echo=True)] if cleaning.echo_cancellation else []
    processors = echo + ([VoiceProcessor(noise=True)] if cleaning.noise_suppression else [])
    nothing = np.zeros(480, np.int16)
    out = []
    for frame in audio.astype(np.int16).reshape(-1, 320):
        for processor in processors:
            frame = processor.clean(frame, nothing)
        out.append(frame)
    return (int(np.argmax(np.abs(np.concatenate(out)[15_000:18_000]))) - 1000) * 1000 / RATE_HZ
