"""Noise and echo, with what `media.telephone` and `media.webrtc` can take out: the agent's own voice coming back (is it taken for
an interruption? is a real one still noticed?), the caller's words in noise, and what the cleaning costs."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from bench.bundled.speech import word_error_rate
from bench.echo_path import Band, Echo
from bench.echoed_call import EchoedCall, Reply, clauses_of
from bench.harness import Figure, at_least, at_most, plain
from bench.noise_cost import ECHO, cost
from bench.noise_material import PARTS, RATE_HZ, Float, Material, Noises, Pcm, caller, spoken
from bench.virtual_call import Overlap
from models.train.telephone import telephone_band
from voiceagent.audio.voice_processing import VoiceProcessor
from voiceagent.latency.budgets import percentile
from voiceagent.media.audio_cleaner import NOTHING, AudioCleaning
from voiceagent.models.registry import resolve
from voiceagent.stt.whisper import WhisperEngine, create
from voiceagent.vad.detector import DetectorOptions, SpeechDetector, SpeechOnset

NOTES = """\
*Echo.* The agent speaks a reply of about 11 s (en_US-joe-medium and the bundled voice); what it sends comes back through the
line's codec (µ-law at 8 kHz, or Opus), a room response of 100 ms, the loss and the delay, with hiss at −65 dBFS. VAD, Whisper
base (int8) and the turn engine are a call's; when the agent pauses, so does its echo. A *false barge-in* is a reply that was
given up. An *interruption* is spoken 2.5 s or 6.5 s into the reply at −20 dBFS, in the published voice at other pitches and
formants. *Noticed*: the reply was given up; the time is from its first sound until the agent is silent. *No echo*: nothing comes
back.

*Noise.* Words wrong of the published Whisper models, through the telephone's band, with 1 s of the noise before the words. The
cleaned audio feeds the voice detector alone, and Whisper hears what came: the rows *Whisper hears it cleaned* show what the other
choice would cost. *End noticed*: from the last sample of the words until the voice detector counts 500 ms of silence. In babble
it hears the other talkers, cleaned or not.

All voices and noises are synthetic: the figures compare with and without; they are no promise for a certain line.
"""
LOSSES_DB, DELAYS_MS = (6.0, 10.0, 15.0, 20.0), (50.0, 100.0, 200.0, 300.0)
BANDS: tuple[Band, ...] = ("telephone", "wide")
INTERRUPTED_AT_S = (2.5, 6.5)
NO_ECHO_DB = 200.0
TAIL_S = 4.0
MODELS = ("whisper-tiny.en", "whisper-base")
SNRS_DB = (0, 5, 10)
LEAD_S, TRAIL_S = 1.0, 2.0
KEPT_LEAD_S = 0.4
ENDED_MS = 500.0


def result_name(options: argparse.Namespace) -> str:
    """The file's: what is chosen by is no result."""
    return "noise_dev" if options.split == "dev" else "noise"


async def measure(options: argparse.Namespace) -> Iterable[Figure]:
    """All figures: about fifteen minutes."""
    part = PARTS[options.split]
    figures = list(cost())
    for model in MODELS:
        engine = create(resolve(model), {"device": "cpu", "compute_type": "int8", "cpu_threads": 1})
        try:
            if model == MODELS[-1]:
                figures += await echo_rows(engine, part)
            figures += await noise_rows(engine, model, part)
        finally:
            await engine.close()
    return [*figures, *detector_rows(part, await caller(part, part.sentences))]


# --- echo ---


async def echo_rows(engine: WhisperEngine, part: Material) -> list[Figure]:
    """The agent's own voice, and real interruptions over it."""
    replies: list[Reply] = []
    for voice, text in part.replies:
        replies.append(Reply(text, await spoken(voice, clauses_of(engine, text), 24_000)))
    found: list[Figure] = []
    for band in BANDS:
        for name, cleaning in (("without", NOTHING), ("with", ECHO)):
            every: list[Overlap] = []
            for loss_db in LOSSES_DB:
                lines = [Echo(delay_ms, loss_db, band, seed=int(delay_ms)) for delay_ms in DELAYS_MS]
                outcomes = [await _alone(engine, reply, line, cleaning) for line in lines for reply in replies]
                every += outcomes
                print(f"{band}, {name}, {loss_db:g} dB: {_yields(outcomes)} of {len(outcomes)}", flush=True)
                found.append(
                    plain(f"{name} canceller, {band}, {loss_db:g} dB: false barge-ins, of {len(outcomes)}", _share(outcomes), "%")
                )
            share = _share(every)
            said = f"{name} canceller, {band}: false barge-ins, of {len(every)} replies"
            found.append(at_most(said, share, 1, "%") if cleaning.is_wanted else plain(said, share, "%"))
            paused = 100 * sum(bool(outcome.gaps) or outcome.yielded for outcome in every) / len(every)
            found.append(plain(f"{name} canceller, {band}: replies that fell silent at all", paused, "%"))
    for name, changes in (
        ("jitter of 30 ms", {"jitter_ms": 30.0}),
        ("clocks 0.01 % apart", {"drift": 1e-4}),
        ("clocks 0.5 % apart", {"drift": 5e-3}),
    ):
        lines = [Echo(100.0, loss_db, "telephone", seed=9, **changes) for loss_db in LOSSES_DB]
        outcomes = [await _alone(engine, reply, line, ECHO) for line in lines for reply in replies]
        found.append(plain(f"with canceller, {name}: false barge-ins, of {len(outcomes)}", _share(outcomes), "%"))
    return found + await interruption_rows(engine, part, replies)


async def interruption_rows(engine: WhisperEngine, part: Material, replies: Sequence[Reply]) -> list[Figure]:
    """Real interruptions, with an echo and on a line without one."""
    voices = await caller(part, part.interruptions)
    found: list[Figure] = []
    for name, cleaning, losses, at_s in (
        ("without canceller, no echo", NOTHING, (NO_ECHO_DB,), INTERRUPTED_AT_S),
        ("with canceller, no echo", ECHO, (NO_ECHO_DB,), INTERRUPTED_AT_S),
        ("with canceller, echo", ECHO, LOSSES_DB, INTERRUPTED_AT_S),
        ("with canceller, no echo, 0.5 s into the first reply", ECHO, (NO_ECHO_DB,), (0.5,)),
        ("with canceller, no echo, 1 s into the first reply", ECHO, (NO_ECHO_DB,), (1.0,)),
    ):
        overlaps = [
            await _interrupted(engine, replies, voice, cleaning, number, loss_db, begin_s)
            for number, (loss_db, (_, voice), begin_s) in enumerate(itertools.product(losses, voices, at_s))
        ]
        texts = [text for _, (text, _), _ in itertools.product(losses, voices, at_s)]
        stopped_ms = [ms for ms, _ in overlaps if ms is not None]
        said, share = f"{name}: interruptions noticed, of {len(overlaps)}", round(100 * len(stopped_ms) / len(overlaps), 1)
        found.append(at_least(said, share, 97, "%") if at_s == INTERRUPTED_AT_S else plain(said, share, "%"))
        found.append(plain(f"{name}: interruption to silence p50", percentile(stopped_ms, 50), "ms"))
        found.append(plain(f"{name}: interruption to silence p95", percentile(stopped_ms, 95), "ms"))
        wrong = word_error_rate([(text, words) for text, (_, words) in zip(texts, overlaps, strict=True)])
        found.append(plain(f"{name}: words of interruptions wrong", wrong, "%"))
        print(said, share, flush=True)
    return found


async def _interrupted(
    engine: WhisperEngine,
    replies: Sequence[Reply],
    voice: Float,
    cleaning: AudioCleaning,
    number: int,
    loss_db: float,
    at_s: float,
) -> tuple[float | None, str]:
    """Returns the time from an interruption's first sound until it silenced the agent, None where it did not; and its words."""
    line = Echo(DELAYS_MS[number % len(DELAYS_MS)], loss_db, BANDS[number // 2 % 2], seed=number)
    call = EchoedCall(engine, replies[number % len(replies)], line, cleaning)
    outcome = await call.spoken_over(_pcm(_surrounded(voice, at_s, TAIL_S)))
    noticed = outcome.dropped_ms is not None and outcome.dropped_ms > at_s * 1000
    return outcome.stopped_ms - at_s * 1000 if noticed else None, outcome.words


async def _alone(engine: WhisperEngine, reply: Reply, line: Echo, cleaning: AudioCleaning) -> Overlap:
    silence = np.zeros(int((reply.duration_ms / 1000 + 1.0) * RATE_HZ), np.int16)
    return await EchoedCall(engine, reply, line, cleaning).spoken_over(silence)


def _yields(outcomes: Sequence[Overlap]) -> int:
    return sum(outcome.yielded for outcome in outcomes)


def _share(outcomes: Sequence[Overlap]) -> float:
    return round(100 * _yields(outcomes) / len(outcomes), 2)


# --- noise ---


async def noise_rows(engine: WhisperEngine, model: str, part: Material) -> list[Figure]:
    """Words wrong, as audio comes and cleaned."""
    sentences = await caller(part, part.sentences)
    found: list[Figure] = []
    for name, heard in _noisy(part, sentences):
        for how, clean in (("", False), (", Whisper hears it cleaned", True)):
            words = [(text, await _words(engine, _cleaned(audio) if clean else audio)) for text, audio, _ in heard]
            found.append(plain(f"{model}, {name}{how}: words wrong", word_error_rate(words), "%"))
        print(found[-2].name, found[-2].value, found[-1].value, flush=True)
    return found


def detector_rows(part: Material, sentences: Sequence[tuple[str, Float]]) -> Iterator[Figure]:
    """Yields the voice detector's figures on speech in noise."""
    for name, heard in _noisy(part, sentences):
        for how, clean in (("", False), (", cleaned", True)):
            missed, ended_ms, before = 0, [], 0
            for _, audio, (first_ms, last_ms) in heard:
                found, late_ms, early = _detected(_cleaned(audio) if clean else audio, first_ms, last_ms)
                missed += not found
                before += early
                if late_ms is not None:
                    ended_ms.append(late_ms)
            said = f"voice detector, {name}{how}"
            yield plain(
                f"{said}: speech before the words / words missed / end never noticed, of {len(heard)}",
                before,
                f"/ {missed} / {len(heard) - len(ended_ms)}",
            )
            if ended_ms:
                yield plain(f"{said}: end noticed p50", percentile(ended_ms, 50), "ms")


def _noisy(
    part: Material, sentences: Sequence[tuple[str, Float]]
) -> Iterator[tuple[str, list[tuple[str, Float, tuple[float, float]]]]]:
    """Yields for each noise: words, audio as it comes over a telephone, and the words' beginning and end in it, in ms."""
    noises = Noises(part)
    for kind in ("none", *part.noises):
        for snr_db in SNRS_DB if kind != "none" else (0,):
            heard: list[tuple[str, Float, tuple[float, float]]] = []
            for number, (text, voice) in enumerate(sentences):
                audio = _surrounded(voice, LEAD_S, TRAIL_S)
                if kind != "none":
                    level = np.sqrt(np.square(voice).mean()) * 10 ** (-snr_db / 20)
                    audio = audio + noises.noise(kind, number, len(audio)) * np.float32(level)
                first_ms = LEAD_S * 1000
                heard.append((text, telephone_band(audio), (first_ms, first_ms + len(voice) * 1000 / RATE_HZ)))
            yield ("no noise" if kind == "none" else f"{kind} {snr_db} dB"), heard


def _cleaned(audio: Float) -> Float:
    processor, pcm = VoiceProcessor(noise=True), _pcm(audio)
    cleaned = [processor.clean(frame) for frame in pcm[: len(pcm) // 320 * 320].reshape(-1, 320)]
    processor.close()
    return np.concatenate(cleaned).astype(np.float32) / np.float32(32768)


async def _words(engine: WhisperEngine, audio: Float) -> str:
    kept = audio[int((LEAD_S - KEPT_LEAD_S) * RATE_HZ) : len(audio) - int((TRAIL_S - KEPT_LEAD_S) * RATE_HZ)]
    return (await engine.transcribe(np.ascontiguousarray(kept), final=True, language="en")).text


def _detected(audio: Float, first_ms: float, last_ms: float) -> tuple[bool, float | None, int]:
    """Returns whether the words were found, the delay after which their end was noticed, and the count of speech found before
    them."""
    detector, found, early, late_ms = SpeechDetector(DetectorOptions()), False, 0, None
    for number, frame in enumerate(_pcm(audio)[: len(audio) // 320 * 320].reshape(-1, 320)):
        now_ms = (number + 1) * 20.0
        progress = detector.feed(frame, now_ms)
        if isinstance(progress, SpeechOnset):
            early += now_ms < first_ms
            found = found or now_ms >= first_ms
        if progress is not None and progress.silence_ms >= ENDED_MS:
            detector.end()
            if late_ms is None and now_ms > last_ms:
                late_ms = now_ms - last_ms
    return found, late_ms, early


def _surrounded(voice: Float, before_s: float, after_s: float) -> Float:
    return np.concatenate([np.zeros(int(before_s * RATE_HZ), np.float32), voice, np.zeros(int(after_s * RATE_HZ), np.float32)])


def _pcm(audio: Float) -> Pcm:
    return (np.clip(audio, -1, 1) * 32767).astype(np.int16)
