"""Keys as tones, among speech and other sounds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from models.train.telephone import telephone_speech
from tests.speech import frames, noise, said, silence, tone
from voiceagent.audio.tones import HIGH_HZ, LOW_HZ, is_key_tone
from voiceagent.telephone.codec import PhoneDecoder, PhoneEncoder
from voiceagent.telephone.messages import AudioFormat, Encoding

KEYS = list(itertools.product(LOW_HZ, HIGH_HZ))


def by_telephone(pcm: np.ndarray) -> np.ndarray:
    """16 kHz audio as it arrives."""
    wire = AudioFormat(Encoding.MULAW, 8_000)
    encoder, decoder = PhoneEncoder(wire, 8_000), PhoneDecoder(wire, 16_000)
    return np.concatenate([decoder.decode(encoder.encode(frame)) for frame in telephone_speech(pcm, 16_000).reshape(-1, 160)])


def key(low_hz: float, high_hz: float, level: float, twist_db: float = 0.0) -> np.ndarray:
    """200 ms."""
    return tone(200, low_hz, level * 10 ** (-twist_db / 20)) + tone(200, high_hz, level)


@pytest.mark.parametrize("level", [0.02, 0.1, 0.45])
@pytest.mark.parametrize("off", [-0.01, 0.0, 0.01])
@pytest.mark.parametrize("twist_db", [-4.0, 0.0, 8.0])
def test_every_key_is_found_from_its_first_whole_frame_on(level: float, off: float, twist_db: float) -> None:
    for low_hz, high_hz in KEYS:
        pressed = frames(by_telephone(key(low_hz * (1 + off), high_hz * (1 + off), level * 10 ** (-4 / 20), twist_db)))
        assert all(map(is_key_tone, pressed[1:])), (low_hz, high_hz)


@pytest.mark.parametrize("voice", ["en-us", "en-gb-x-rp+f4", "en-us+f3", "en-us+m7"])
def test_speech_is_no_key(voice: str) -> None:
    spoken = said("Please book a table for two people on Friday at seven, and call me in the evening.", voice)
    for heard in (spoken, by_telephone(spoken[: len(spoken) // 320 * 320])):
        assert sum(map(is_key_tone, frames(heard[: len(heard) // 320 * 320]))) <= 1


@pytest.mark.parametrize(
    "sound",
    [
        silence(200), noise(200, 0.2), tone(200, 440), tone(200, 770), tone(200, 1209), tone(200, 350) + tone(200, 440),
        key(697, 1209, 0.001),
    ],
    ids=["silence", "noise", "440 Hz", "one low tone", "one high tone", "dial tone", "too quiet"],
)  # fmt: skip
def test_other_sounds_are_no_key(sound: np.ndarray) -> None:
    assert not any(map(is_key_tone, frames(sound)))
