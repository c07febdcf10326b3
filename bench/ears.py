"""Streaming on published weights: what tiny.en makes of a published voice, frame by frame as in a call, how soon its words are
shown and settled under either policy, and what the gates refuse, of speech and of sounds. Chosen on `tuning` sentences, reported
on `held_out` ones (`bench/stt/everyday.yaml`)."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np

from bench.harness import Figure, at_most
from bench.stt.everyday import by_piper, by_telephone, sentences
from bench.stt.gated import Judged, of_sounds, of_speech, sounds
from bench.stt.speech import Spoken
from bench.stt.spelling import word_errors
from bench.transcription import Run, stream_run
from voiceagent.latency.budgets import percentile
from voiceagent.models.registry import profile, resolve
from voiceagent.stt.whisper import WhisperEngine, create

NOTES = """\
Virtual time, as in `transcription`: the clock is the audio received plus the wall time that each decode took. The recogniser and
its options are the profile's; the speech is the published voice en_US-joe-medium, held-out sentences at two other speeds.

- *shown for good*: from the end of a word's sound, as the voice tells it, until it is shown and stays in its place.
- *stable*: until it is among the stable words.
- *refused*: by the gates, at the profile's limits. Sounds are noise, hum, tones, clicks, coughs, doors, keys and knocks, given to
  the recogniser as they are; in a call the VAD stands before it and lets few of them through.
"""
PROFILE = "real-speech"
POLICIES = (
    ("agreement", {"policy": "agreement"}),
    ("alignatt, edge 200 ms", {"policy": "alignatt", "edge_ms": 200.0}),
    ("alignatt, edge 400 ms", {"policy": "alignatt", "edge_ms": 400.0}),
)
TUNED_ON_EVERY, TELEPHONE_EVERY = 4, 3
TUNING_SCALES, HELD_OUT_SCALES = (1.0,), (0.85, 1.15)
NOISE_BELOW_DB = 10.0
HELD_OUT_SEED = 5000
SUDDEN_OF_A_KIND = 5


async def measure(options: argparse.Namespace) -> Iterable[Figure]:
    """All figures: about four minutes of an idle core."""
    voice = resolve("piper-joe")
    tuning = await by_piper(voice, sentences("en", "tuning")[::TUNED_ON_EVERY], TUNING_SCALES)
    held_out = await by_piper(voice, sentences("en", "held_out"), HELD_OUT_SCALES)
    spec = profile(PROFILE).stt
    engine = create(resolve(spec.model), spec.options)
    figures: list[Figure] = []
    try:
        for name, changes in POLICIES:
            run = await stream_run(engine, tuning, msgspec.structs.replace(engine.stream, **changes))
            figures += policy_rows(f"tuning, {name}", run)
        run = await stream_run(engine, held_out, engine.stream)
        figures += held_out_rows("held out", run)
        run = await stream_run(engine, by_telephone(held_out[::TELEPHONE_EVERY]), engine.stream)
        figures += [
            Figure("held out, by telephone: utterances", len(run.pairs), "", "", True),
            at_most("held out, by telephone: word error rate, streaming", round(word_errors(run.pairs), 1), 8, "%"),
        ]
        figures += gate_rows(engine, held_out)
    finally:
        await engine.close()
    return figures


def policy_rows(name: str, run: Run) -> Iterator[Figure]:
    """Yields the gains and costs of a policy."""
    contradicted = 100 * run.contradicted / max(1, run.stable_words)
    yield Figure(f"{name}: word error rate, streaming", round(word_errors(run.pairs), 1), "%", "", True)
    yield Figure(f"{name}: word end → stable p50", round(percentile(run.stable_ms, 50)), "ms", "", True)
    yield Figure(f"{name}: word end → stable p95", round(percentile(run.stable_ms, 95)), "ms", "", True)
    yield Figure(f"{name}: stable words that the final does not have", round(contradicted, 1), "%", "", True)
    yield Figure(f"{name}: CPU seconds an audio second", round(run.cost, 3), "", "", True)


def held_out_rows(name: str, run: Run) -> Iterator[Figure]:
    """Yields the figures of the profile's own settings on sentences that nothing was chosen on."""
    yield Figure(f"{name}: utterances", len(run.pairs), "", "", True)
    yield at_most(f"{name}: word error rate, streaming", round(word_errors(run.pairs), 1), 5, "%")
    yield Figure(f"{name}: word end → shown for good p50", round(percentile(run.shown_ms, 50)), "ms", "", True)
    yield Figure(f"{name}: word end → shown for good p95", round(percentile(run.shown_ms, 95)), "ms", "", True)
    yield from list(policy_rows(name, run))[1:]
    yield Figure(f"{name}: partial interval p50", round(percentile(run.intervals_ms, 50)), "ms", "", True)
    yield at_most(f"{name}: finals refused by a gate", run.rejected, 0, "")


def gate_rows(engine: WhisperEngine, speech: Sequence[Spoken]) -> Iterator[Figure]:
    """Speech, clean and noisy, and sounds against the profile's limits."""
    limits = engine.stream.limits
    for name, spoken in (("speech", speech), (f"speech, noise {NOISE_BELOW_DB:g} dB below", [noisy(each) for each in speech])):
        judged = of_speech(engine.decoder, spoken)
        yield Figure(f"gates, {name}: lowest log probability", lowest(judged), "", "", True)
        yield at_most(f"gates, {name}: refused of {len(judged)}", sum(bool(each.refused(limits)) for each in judged), 0, "")
    made = list(sounds(HELD_OUT_SEED, SUDDEN_OF_A_KIND))
    written = of_sounds(engine.decoder, made)
    kept = [each.hypothesis.text for each in written if not each.refused(limits)]
    yield Figure("gates, sounds", len(made), "", "", True)
    yield Figure("gates, sounds that words are written for", len(written), "", "", True)
    yield Figure("gates, sounds whose words pass", len(kept), "", "", True)


def lowest(judged: Sequence[Judged]) -> float:
    """The least likely transcript's mean log probability."""
    return round(min(each.hypothesis.mean_log_probability for each in judged), 2)


def noisy(spoken: Spoken) -> Spoken:
    """With white noise behind it."""
    audio = spoken.audio.astype(np.float32)
    level = float(np.sqrt(np.mean(audio**2))) * 10 ** (-NOISE_BELOW_DB / 20)
    noise = np.random.default_rng(len(audio)).normal(0, level, len(audio))
    return Spoken(spoken.text, np.asarray(np.clip(audio + noise, -32768, 32767), np.int16), spoken.word_ends_ms)
