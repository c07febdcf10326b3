"""Answering machines told from people by what is heard when a call is answered: generated greetings in seven languages, through
the telephone's band, the VAD, a published Whisper and the detector. Chosen on `tuning` greetings, reported on `held_out` ones
too, which share no sentence, voice or seed with them."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from bench.answering.greetings import Greeting, greetings, spoken_openings
from bench.answering.openings import Kind, Told, taken_for
from bench.harness import Figure, at_least, at_most
from bench.opening_words import shares
from voiceagent.latency.budgets import percentile
from voiceagent.models.registry import resolve
from voiceagent.stt.whisper import WhisperEngine, create
from voiceagent.telephone.features.answering_machine import AnsweringMachine, MachineVerdict
from voiceagent.turn_taking.languages import language
from voiceagent.vad.detector import DetectorOptions, SpeechDetector

NOTES = """\
Each greeting is heard as in a call: 20 ms frames through µ-law and 300–3400 Hz, the VAD, Whisper base (int8) in every pause and
every two seconds of speech, told which language is spoken. Voices: espeak-ng's, and in English the published en_US-joe-medium;
behind them nothing, pink or brown noise, or babble, 18 dB below; levels −18 to −30 dBFS; beeps of 350–1850 Hz, 160 ms to 1 s, and
none for one machine in eight. A person says their words once or twice and waits. A synthetic voice is no recording of a machine:
the figures say that the parts work together, not what share of real machines is found.

*openings, spoken*: the English openings of `bench opening_words` that were kept back, in en_US-joe-medium, heard in the same way.

- *told*: machines taken for machines and people not taken for machines, when 5 s after the last word are over.
- *delayed*: how much later a person is heard by the agent than without the detector. Nothing waits for it, so that is the time
  that it takes for a frame.
- *told after*: from the first word to the verdict. *recording known after the beep*: when the message may begin.
"""
MODEL = "whisper-base"
PAUSE_MS, ENDPOINT_MS = 100.0, 800.0
DECODE_EVERY_FRAMES = 100
KEPT_S = 28


@dataclass(slots=True)
class Heard:
    """The outcome of one greeting."""

    greeting: Greeting
    verdict: MachineVerdict
    reason: str
    told_ms: float = 0.0
    records_ms: float = 0.0
    frame_us: list[float] = field(default_factory=list)
    text: str = ""
    kind: Kind = "person"

    @property
    def is_right(self) -> bool:
        """True if the verdict is a machine for a machine, and only for one."""
        return self.greeting.is_machine == (self.verdict is MachineVerdict.MACHINE)


async def measure(options: argparse.Namespace) -> Iterable[Figure]:
    """All figures: about ten minutes of an idle core."""
    engine = create(resolve(MODEL), {"device": "cpu", "compute_type": "int8", "cpu_threads": 1})
    try:
        spoken = [Told(opening, (await hear(engine, call)).kind) for opening, call in await spoken_openings()]
        figures = list(shares("openings, spoken", spoken))
        for part in ("tuning", "held_out"):
            heard = [await hear(engine, greeting) for greeting in await greetings(part)]
            figures += rows(part.replace("_", " "), heard)
    finally:
        await engine.close()
    return figures


async def hear(engine: WhisperEngine, greeting: Greeting) -> Heard:
    """One greeting in virtual time: words are there as soon as they are decoded."""
    machine = AnsweringMachine((language(greeting.language).phone,))
    detector = SpeechDetector(DetectorOptions(preroll_ms=400.0))
    heard = Heard(greeting, MachineVerdict.UNDECIDED, "")
    utterance: list[np.ndarray] = []
    number, since, paused, first_ms = 0, 0, True, 0.0
    for at, frame in enumerate(greeting.audio.reshape(-1, 320)):
        now_ms = 20.0 * (at + 1)
        progress = detector.feed(frame, now_ms)
        decode = False
        if progress is not None:
            if paused and progress.silence_ms < PAUSE_MS:
                paused, first_ms = False, first_ms or now_ms
                machine.speaks(True)
            utterance.append(frame if utterance else getattr(progress, "audio", frame))
            since += 1
            decode = since >= DECODE_EVERY_FRAMES
            if not paused and progress.silence_ms >= PAUSE_MS:
                paused = decode = True
                machine.speaks(False)
        if decode:
            since = 0
            audio = np.concatenate(utterance)[-KEPT_S * 16_000 :].astype(np.float32) / np.float32(32768)
            heard.text = (await engine.transcribe(audio, final=True, language=greeting.language)).text
            machine.says(number, heard.text)
        if progress is not None and progress.silence_ms >= ENDPOINT_MS:
            detector.end()
            utterance, number, since = [], number + 1, 0
        began = time.perf_counter()
        machine.listen(frame)
        heard.frame_us.append((time.perf_counter() - began) * 1e6)
        if machine.verdict is MachineVerdict.MACHINE and not heard.told_ms:
            heard.told_ms = now_ms - first_ms
        if machine.records and not heard.records_ms:
            heard.records_ms = now_ms
    heard.verdict, heard.reason, heard.kind = machine.verdict, machine.reason, taken_for(machine)
    return heard


def rows(name: str, heard: Sequence[Heard]) -> Iterator[Figure]:
    """Yields the share that is recognised, how soon, and at what cost."""
    machines = [one for one in heard if one.greeting.is_machine]
    people = [one for one in heard if not one.greeting.is_machine]
    right = [one for one in machines if one.is_right]
    yield Figure(f"{name}: greetings", len(heard), "", "", True)
    yield Figure(f"{name}: of machines", len(machines), "", "", True)
    yield at_least(f"{name}: told", round(100 * sum(one.is_right for one in heard) / len(heard), 1), 95, "%")
    yield at_least(f"{name}: machines told", round(100 * len(right) / len(machines), 1), 95, "%")
    wrong = round(100 * sum(not one.is_right for one in people) / len(people), 1)
    yield at_most(f"{name}: people taken for machines", wrong, 5, "%")
    for code in sorted({one.greeting.language for one in heard}):
        spoken = [one for one in heard if one.greeting.language == code]
        yield Figure(f"{name}: told, {code}", round(100 * sum(one.is_right for one in spoken) / len(spoken), 1), "%", "", True)
    for reason in ("words", "beep", "length"):
        yield Figure(f"{name}: machines told by {reason}", sum(one.reason == reason for one in right), "", "", True)
    told = [one.told_ms for one in right]
    yield Figure(f"{name}: told after p50", round(percentile(told, 50)), "ms", "", True)
    yield Figure(f"{name}: told after p95", round(percentile(told, 95)), "ms", "", True)
    beeped = [one for one in right if one.greeting.beep_end_ms]
    lag = [one.records_ms - one.greeting.beep_end_ms for one in beeped if one.records_ms]
    yield at_least(f"{name}: beeps found", round(100 * len([ms for ms in lag if ms < 500]) / len(beeped), 1), 95, "%")
    yield Figure(f"{name}: recording known after the beep p50", round(percentile(lag, 50)), "ms", "", True)
    delayed_ms = [us / 1000 for one in people for us in one.frame_us]
    yield at_most(f"{name}: people delayed p99", round(percentile(delayed_ms, 99), 3), 300, "ms")
