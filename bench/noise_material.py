"""The material of `bench/noise.py`: sentences in voices, noises, and the agent's replies. The tuned and the held-out part share
no sentence, voice or seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import soxr
from numpy.typing import NDArray

from bench.bundled.speech import held_out
from bench.echo_path import SENT_HZ
from models.train.espeak import Espeak
from models.train.not_speech import coloured_noise, not_speech
from voiceagent.audio.resample import resample
from voiceagent.models.registry import resolve
from voiceagent.tts.piper import PiperEngine

RATE_HZ = 16_000
USUAL_DB = -20.0
"""RMS of a voice, as a part of full scale."""
TALKERS = 6
SILENT_PART = 0.03
"""Share of a voice's peak: softer edges are cut off."""
Float = NDArray[np.float32]
Pcm = NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class Material:
    """One part."""

    sentences: tuple[str, ...]
    interruptions: tuple[str, ...]
    replies: tuple[tuple[str, str], ...]
    """The agent's voice and words."""
    pitches: tuple[float, ...]
    """The callers' voices: the published voice, so much higher with its formants."""
    noises: tuple[str, ...]
    seed: int


PARTS = {
    "dev": Material(
        (
            "Could you tell me when the next train to the airport leaves?",
            "I would like to change my booking from Tuesday to Friday evening.",
            "My order has not arrived and I paid for it two weeks ago.",
            "Please send the invoice to my office and not to my home.",
            "What is the weather going to be like in the mountains tomorrow?",
            "I lost my card yesterday and need a new one quickly.",
            "Is there a table for four people near the window?",
            "The washing machine stops after ten minutes and the door stays closed.",
            "I want to speak to somebody about my contract.",
            "How much does it cost to send a small parcel abroad?",
        ),
        (
            "Our train leaves at noon.",
            "Any chance of a window seat?",
            "Book the later flight, please.",
            "Has my parcel arrived?",
            "No, I meant the other one.",
            "Wait, that is the wrong address.",
            "Please stop, I know that already.",
            "Can you say that again?",
        ),
        (
            (
                "piper-joe",
                "Your order left our warehouse on Monday morning, and the driver tried to deliver it twice. "
                "It is now waiting at the post office, where you can collect it with your passport until the end of next week.",
            ),
        ),
        (0.84, 1.14, 1.22),
        ("white", "car", "babble"),
        1,
    ),
    "held_out": Material(
        (
            "My flight was cancelled and I need a room for the night.",
            "Do you have the same jacket in blue and one size larger?",
            "The heating in our house has been cold since this morning.",
            "Please put me through to the person who looks after deliveries.",
            "We are moving next month and need internet at the new place.",
            "Which of the two tickets can be changed without paying more?",
            "The doctor told me to make another appointment for next week.",
            "I ordered the large size but the box has a small one in it.",
            "Could somebody call me back in the afternoon after three?",
            "Our garden gate is broken and the dog gets out every day.",
            "How far is it from the station to your office on foot?",
            "I forgot the code for the front door of the building.",
            "Are there any seats left for the concert on Saturday night?",
            "The bill says thirty pounds more than we agreed on the phone.",
            "My mother would like to keep her old telephone number.",
            "When do you open on the day after the holiday?",
        ),
        (
            "Send it to my office instead.",
            "I need it before Wednesday.",
            "That is not what I asked.",
            "Hold on, let me find a pen.",
            "Sorry, which street was that?",
            "Forget the first one, please.",
            "Is there anything cheaper?",
            "No, not on a Sunday.",
            "Excuse me, I have a question.",
            "We are five people, not four.",
            "Tell me the price first.",
            "Stop, I want to start again.",
        ),
        (
            (
                "piper-joe",
                "I have found three restaurants near the station that still have a free table on Friday evening at seven. "
                "The first one is Italian and has a quiet garden, and the second one serves fish from the harbour.",
            ),
            (
                "piper-joe",
                "The museum opens at ten and closes at six, but on Thursdays you may stay until nine in the evening. "
                "Tickets cost twelve pounds, and children under fourteen years come in without paying anything.",
            ),
            (
                "micro-voice",
                "Your table for four people is booked on Friday at seven thirty, and we look forward to seeing you. "
                "It is sunny in London today with twenty degrees, but tomorrow there will be some rain in the evening.",
            ),
            (
                "micro-voice",
                "Your order left our warehouse this morning, it is on its way, and it should arrive on Friday afternoon. "
                "If nobody is at home, the driver takes it to the shop on the corner, and you can collect it there.",
            ),
        ),
        (0.8, 0.9, 1.18),
        ("pink", "fan", "babble"),
        2,
    ),
}


async def spoken(voice: str, texts: Sequence[str], rate_hz: int) -> dict[str, Pcm]:
    """Each text in a Piper voice of the registry, mono."""
    engine = PiperEngine(resolve(voice))
    said: dict[str, Pcm] = {}
    for text in texts:
        pcm = np.concatenate([chunk.pcm async for chunk in engine.synthesise(text)])
        said[text] = resample(pcm, engine.sample_rate_hz, rate_hz)
    await engine.close()
    return said


async def caller(part: Material, texts: Sequence[str]) -> list[tuple[str, Float]]:
    """The texts in the callers' voices, one after the other, at the usual level without silence around them; -1..1."""
    plain = await spoken("piper-joe", texts, SENT_HZ)
    return [(text, _as_caller(plain[text], part.pitches[at % len(part.pitches)])) for at, text in enumerate(texts)]


def _as_caller(pcm: Pcm, pitch: float) -> Float:
    audio = np.asarray(soxr.resample(pcm.astype(np.float32) / 32768, SENT_HZ * pitch, RATE_HZ), np.float32)
    loud = np.flatnonzero(np.abs(audio) > SILENT_PART * np.abs(audio).max())
    return at_level(audio[loud[0] : loud[-1] + 1], USUAL_DB)


def at_level(audio: Float, level_db: float) -> Float:
    """The same with that RMS."""
    return np.asarray(audio / np.sqrt(np.square(audio).mean()) * 10 ** (level_db / 20), np.float32)


class Noises:
    """The noises of one part."""

    def __init__(self, part: Material) -> None:
        self._seed = part.seed
        self._espeak = Espeak()
        self._talkers = [entry for at, entry in enumerate(held_out("voices")) if at % 2 == part.seed % 2]

    def noise(self, kind: str, number: int, samples: int) -> Float:
        """Returns this many samples of a noise with an RMS of 1; the same for the same number, but for the talkers'."""
        rng = np.random.default_rng((self._seed, number))
        if kind == "babble":
            sound: NDArray[np.floating] = self._babble(rng, samples)
        elif kind in ("car", "fan"):
            exponent, low_hz = (1.0, 90.0) if kind == "car" else (0.5, 120.0)
            at_s = np.arange(samples) / RATE_HZ
            tones = sum(np.sin(2 * np.pi * low_hz * k * at_s + rng.uniform(0, 6)) / k for k in (1, 2, 3))
            sound = coloured_noise(rng, samples, exponent) + 0.4 * tones
        else:
            sound = not_speech(kind, self._seed * 1000 + number, samples / RATE_HZ + 1, -20.0)[:samples]
        return np.asarray(sound / np.sqrt(np.square(sound).mean()), np.float32)

    def _babble(self, rng: np.random.Generator, samples: int) -> NDArray[np.float64]:
        mixed = np.zeros(samples)
        for _ in range(TALKERS):
            voice = self._talkers[int(rng.integers(len(self._talkers)))]
            parts: list[Float] = []
            while sum(map(len, parts)) < samples + RATE_HZ:
                says = self._talkers[int(rng.integers(len(self._talkers)))].spoken
                parts.append(self._espeak.say(says, voice.voice, words_per_minute=voice.words_per_minute).resampled(RATE_HZ))
            first = int(rng.integers(RATE_HZ))
            mixed += at_level(np.concatenate(parts)[first : first + samples], 0.0)
        return mixed
