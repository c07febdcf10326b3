"""Who takes the floor: sounds over the agent's speech that must not (coughs, doors, keys, noise, signs of listening), and those
that must (sentences, commands), in the voices of the held-out list, which no training has heard. Each goes through the VAD,
Whisper and the turn engine of a call at the machine's pace (`virtual_call`)."""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bench.virtual_call import RATE_HZ, Overlap, Pcm, VirtualCall
from voiceagent.engines import load_stt
from voiceagent.latency.percentiles import distribution
from voiceagent.models import not_speech, sudden_sounds
from voiceagent.models.check_speech import held_out
from voiceagent.models.espeak import Espeak
from voiceagent.models.figures import Figure, at_least, at_most
from voiceagent.models.registry import profile

MM_HM, LONG_MM_HM = "[[m_h'm]]", "[[m:h'Vm:]]"
BACKCHANNELS = (
    MM_HM,
    LONG_MM_HM,
    "Okay.",
    "Yeah.",
    "Uh-huh.",
    "Right.",
    "I see.",
    "Oh, okay.",
    "Yes.",
    "Sure.",
    "Good.",
    "Hmm.",
    "Okay, great.",
)
COMMANDS = (
    "Stop.", "Wait.", "No.", "Stop, please.", "Hold on.", "No, wait.", "Wait a minute.", "Be quiet.", "Never mind.", "Cancel.",
    "Enough.", "No, stop.",
)  # fmt: skip
SILENT = {"cough": 60, "door slam": 40, "keyboard": 40, "knock": 20}
NOISES = ("white", "pink", "brown", "hum", "clicks")
NOISE_TRIALS = 12
"""Of each kind."""
HISS_DB = -65.0
NOTES = """Sounds are generated; signs of listening, commands and sentences are spoken by espeak-ng in held-out voices at
their rates, "mm-hm" short and long. The bundled Whisper was trained on such words, in other voices: what takes the floor is
decided by words, and speech for which it writes nothing is taken for a sign of listening."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A sound and whether it is meant to take the floor."""

    kind: str
    name: str
    takes_floor: bool
    sound: Pcm
    """Mono 16 kHz, shape (samples,)."""


async def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """All figures: about three minutes."""
    engine = load_stt(profile("embedded").stt)
    outcomes: dict[str, list[Overlap]] = defaultdict(list)
    wanted: dict[str, bool] = {}
    try:
        for trial in trials():
            outcome = await VirtualCall(engine).overlap(trial.sound)
            outcomes[trial.kind].append(outcome)
            wanted[trial.kind] = trial.takes_floor
            if outcome.yielded != trial.takes_floor:
                done = "yielded" if outcome.yielded else "went on"
                print(f"wrong: {trial.kind} {trial.name}: {done}, heard {outcome.words!r} in {outcome.voiced_ms:.0f} ms")
    finally:
        await engine.close()
    return _rows(outcomes, wanted)


def trials(seed: int = 0) -> Iterator[Trial]:
    """All sounds, the same for the same seed (but for espeak-ng, which never speaks twice alike)."""
    rng = random.Random(seed)
    for kind, count in SILENT.items():
        for number in range(count):
            sound = sudden_sounds.sudden_sound(kind, rng.randrange(2**31), RATE_HZ, peak=rng.uniform(0.1, 0.7))
            yield Trial(kind, str(number), False, _pcm(sound, rng))
    for kind in NOISES:
        for _ in range(NOISE_TRIALS):
            level_db = rng.uniform(-45, -18)
            sound = not_speech.not_speech(kind, rng.randrange(2**31), rng.uniform(1.0, 4.0), level_db, RATE_HZ)
            yield Trial("noise", f"{kind} {level_db:.0f} dB", False, _pcm(sound, rng))
    espeak = Espeak()
    entries = held_out("voices")
    for kind, texts, takes_floor in (("backchannel", BACKCHANNELS, False), ("command", COMMANDS, True), ("sentence", (), True)):
        for number, entry in enumerate(entries):
            text = texts[number % len(texts)] if texts else entry.spoken
            speech = espeak.say(
                text, entry.voice, words_per_minute=entry.words_per_minute, pitch=entry.pitch, pitch_range=entry.pitch_range
            ).resampled(RATE_HZ)
            loud = np.flatnonzero(np.abs(speech) > np.abs(speech).max() / 30)
            spoken = speech[loud[0] : loud[-1] + 1] / np.abs(speech).max() * rng.uniform(0.15, 0.6)
            yield Trial(kind, f"{text} {entry.voice}", takes_floor, _pcm(spoken, rng))


def _pcm(sound: np.ndarray, rng: random.Random) -> Pcm:
    hiss = np.random.default_rng(rng.randrange(2**31)).standard_normal(len(sound)) * 10 ** (HISS_DB / 20)
    return (np.clip(sound + hiss, -1, 1) * 32767).astype(np.int16)


def _rows(outcomes: dict[str, list[Overlap]], wanted: dict[str, bool]) -> Iterator[Figure]:
    for kind, found in outcomes.items():
        yielded = 100 * sum(outcome.yielded for outcome in found) / len(found)
        yield Figure(f"{kind}: yields, of {len(found)}", round(yielded, 1), "%", "", True)
    quiet = [outcome for kind, found in outcomes.items() if not wanted[kind] for outcome in found]
    spoken = [outcome for kind, found in outcomes.items() if wanted[kind] for outcome in found]
    yield at_least("trials that are not to take the floor", len(quiet), 300, "")
    yield at_most("of these, yields", round(100 * sum(o.yielded for o in quiet) / len(quiet), 2), 3, "%")
    yield at_least("real interruptions", len(spoken), 200, "")
    yield at_least("of these, yields", round(100 * sum(o.yielded for o in spoken) / len(spoken), 2), 98, "%")
    held = [o.held_ms for o in spoken if o.held_ms is not None]
    decided = [o.decided_ms for o in spoken if o.yielded and o.decided_ms is not None]
    went_on = [o.decided_ms for o in quiet if not o.yielded and o.decided_ms is not None]
    disturbed = sum(o.held_ms is not None for o in quiet)
    yield Figure("not to take the floor: agent paused", round(100 * disturbed / len(quiet), 1), "%", "", True)
    for name, times in (("interruption to silence", held), ("interruption to yield", decided), ("noise to going on", went_on)):
        if times:
            yield Figure(f"{name} p50 (audio time)", round(distribution(times).p50_ms, 0), "ms", "", True)
            yield Figure(f"{name} p95 (audio time)", round(distribution(times).p95_ms, 0), "ms", "", True)
