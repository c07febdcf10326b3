"""Measures who takes the floor: sounds over the agent's speech that must not (coughs, doors, keys, noise, backchannels), and
those that must (sentences, commands), in the voices of the held-out list, which no training has heard; and how soon the agent is
silent for the latter, how often for the former, by each of its manners. Each sound goes through the VAD, Whisper and the turn
engine of a call at the machine's pace (`virtual_call`)."""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from itertools import chain

from bench.bundled.speech import held_out
from bench.floor_curve import AUDIBLE_MS, AUDIBLE_SHARE, BRIEF_MS, STOP_P50_MS, STOP_P95_MS, Scored, draw, policies
from bench.floor_people import people
from bench.harness import Figure, at_least, at_most
from bench.virtual_call import RATE_HZ, Overlap, Pcm, Remembered, SpokenOver, over_speech
from models.train import not_speech
from models.train.espeak import Espeak
from models.train.overlap_sounds import Sound, sounds, trimmed, with_hiss
from voiceagent.engines import load_stt
from voiceagent.latency.budgets import percentile
from voiceagent.models.registry import profile
from voiceagent.settings.agent import TurnSettings
from voiceagent.turn_taking.overlap import MANNERS, Manners

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
BEGIN_LIKE_LISTENING = (
    "Good. In Venice, please.", "Okay. But what about Sunday?", "Yes. And a table outside.", "Right. Can we do seven instead?",
    "Sure. But for two people.", "I see. And how far is it?",
)  # fmt: skip
SILENT = {"cough": 60, "door slam": 40, "keyboard": 40, "knock": 20}
NOISES = ("white", "pink", "brown", "hum", "clicks")
NOISE_TRIALS = 12
"""Trials of each kind."""
NOTES = """Sounds are generated; backchannels, commands and sentences are spoken by espeak-ng in held-out voices at
their rates, "mm-hm" short and long. The bundled Whisper was trained on such words, in other voices: what takes the floor is
decided by words, and speech for which it writes nothing is taken for a backchannel. Times are received audio, with 60
ms for each decode; a pause is audible from 250 ms on, and those from 100 ms on are counted beside it. An interruption has
stopped the reply with the last frame in which it is heard, softly or not. What begins like a backchannel ("Good. In Venice,
please.") counts for the share after which the old reply came back, not for the times. `floor.svg` draws pauses against times
for several lengths of speech that pause the reply; the default's was chosen on other sounds (`--split dev`,
`models/train/overlap_sounds.py`) and on sounds of people. The rows on people are heard by the recogniser of `starter`."""

TUNING_SPOKEN, TUNING_NOISES = 60, 10
"""With `--split dev`: of each kind."""
Coded = tuple[Sound, Pcm]


def result_name(options: argparse.Namespace) -> str:
    """The file's: what is chosen by is no result."""
    return "floor_dev" if options.split == "dev" else "floor"


async def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """All figures and `floor.svg`: about four minutes."""
    tried = sounds(0, TUNING_SPOKEN, TUNING_NOISES) if options.split == "dev" else trials()
    heard = [(sound, over_speech(sound.pcm)) for sound in tried]
    engine = Remembered(load_stt(profile("embedded").stt))
    try:
        scored = {name: await score(engine, heard, manners) for name, manners in {**MANNERS, **policies()}.items()}
    finally:
        await engine.close()
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / f"{result_name(options)}.svg").write_text(draw(scored), encoding="utf-8")
    return chain(_rows(scored), await people() if options.split == "held_out" else ())


async def score(engine: Remembered, heard: Sequence[Coded], manners: Manners) -> Scored:
    """All trials with one of the manners."""
    found: list[tuple[Sound, Overlap]] = []
    for sound, audio in heard:
        outcome = await SpokenOver(engine, manners).overlap_coded(audio, len(sound.pcm) * 1000 / RATE_HZ)
        found.append((sound, outcome))
    return Scored(found)


def trials(seed: int = 0) -> Iterator[Sound]:
    """All sounds, the same for the same seed (but for espeak-ng, which never speaks twice alike)."""
    rng = random.Random(seed)
    for kind, count in SILENT.items():
        for number in range(count):
            sound = not_speech.sudden_sound(kind, rng.randrange(2**31), RATE_HZ, peak=rng.uniform(0.1, 0.7))
            yield Sound(kind, str(number), False, with_hiss(sound, rng))
    for kind in NOISES:
        for _ in range(NOISE_TRIALS):
            level_db = rng.uniform(-45, -18)
            sound = not_speech.not_speech(kind, rng.randrange(2**31), rng.uniform(1.0, 4.0), level_db, RATE_HZ)
            yield Sound("noise", f"{kind} {level_db:.0f} dB", False, with_hiss(sound, rng))
    espeak = Espeak()
    entries = held_out("voices")
    spoken: tuple[tuple[str, tuple[str, ...], bool, int], ...] = (
        ("backchannel", BACKCHANNELS, False, 150),
        ("command", COMMANDS, True, 150),
        ("sentence", (), True, 150),
        ("begins like listening", BEGIN_LIKE_LISTENING, True, 60),
    )
    for kind, texts, takes_floor, count in spoken:
        for number, entry in enumerate(entries[:count]):
            text = texts[number % len(texts)] if texts else entry.spoken
            speech = espeak.say(
                text, entry.voice, words_per_minute=entry.words_per_minute, pitch=entry.pitch, pitch_range=entry.pitch_range
            ).resampled(RATE_HZ)
            yield Sound(kind, f"{text} {entry.voice}", takes_floor, trimmed(speech, rng))


def _rows(scored: dict[str, Scored]) -> Iterator[Figure]:
    default = scored[TurnSettings().overlap]
    for kind in dict.fromkeys(sound.kind for sound, _ in default.found):
        of_kind = default.of(kind)
        yielded = 100 * sum(outcome.yielded for outcome in of_kind) / len(of_kind)
        yield Figure(f"{kind}: yields, of {len(of_kind)}", round(yielded, 1), "%", "", True)
    quiet, real = default.quiet, default.interruptions
    yield at_least("trials that are not to take the floor", len(quiet), 300, "")
    yield at_most("of these, yields", round(100 * sum(o.yielded for o in quiet) / len(quiet), 2), 3, "%")
    yield at_least("real interruptions", len(real), 200, "")
    yield at_least("of these, yields", round(100 * sum(o.yielded for o in real) / len(real), 2), 98, "%")
    for name in MANNERS:
        yield from _of_manners(name, scored[name], default=name == TurnSettings().overlap)
    for name in policies():
        found = scored[name]
        p50_ms, p95_ms = found.stop_ms(50), found.stop_ms(95)
        yield Figure(
            f"{name}: audible pauses / back after", round(found.audible_share, 1), "%", f"{found.back_share:.1f} %", True
        )
        yield Figure(f"{name}: interruption to silence p50 / p95", p50_ms, "ms", f"{p95_ms:.0f} ms", True)


def _of_manners(name: str, found: Scored, *, default: bool) -> Iterator[Figure]:
    what = f"{name} (default)" if default else name
    audible, signs = round(found.audible_share, 1), round(found.audible_share_of("backchannel"), 1)
    if default:
        yield at_most(f"{what}: audible pauses for what is no interruption", audible, AUDIBLE_SHARE, "%")
    else:
        yield Figure(f"{what}: audible pauses for what is no interruption", audible, "%", "", True)
    yield Figure(f"{what}: audible pauses for backchannels", signs, "%", "", True)
    yield Figure(f"{what}: pauses of over {BRIEF_MS:g} ms for what is no interruption", found.share_over(BRIEF_MS), "%", "", True)
    for percent, limit_ms in ((50, STOP_P50_MS), (95, STOP_P95_MS)):
        stop_ms, said = found.stop_ms(percent), f"{what}: interruption to silence p{percent}"
        yield at_most(said, stop_ms, limit_ms, "ms") if default or name == "eager" else Figure(said, stop_ms, "ms", "", True)
    for kind in ("command", "sentence"):
        yield Figure(f"{what}: {kind} to silence p50", found.stop_ms(50, kind), "ms", "", True)
    yield Figure(f"{what}: interruption to a softer voice p50", found.softer_ms, "ms", "", True)
    yield at_most(f"{what}: the old reply came back after an interruption", round(found.back_share, 2), 1, "%")
    nothing, listening = found.again_ms
    if nothing:
        yield at_most(f"{what}: end of nothing to going on p95, of {len(nothing)}", percentile(nothing, 95), 300, "ms")
    if listening:
        said = f"{what}: end of a backchannel that paused it to going on p50, of {len(listening)}"
        yield Figure(said, percentile(listening, 50), "ms", f"audible from {AUDIBLE_MS:g} ms", True)
