"""Beeps: single tones of 150 ms and more are found, to their end; voices, keys, noise and shorter tones are none."""

from __future__ import annotations

import numpy as np
import pytest

from models.train.espeak import Espeak
from models.train.not_speech import coloured_noise
from models.train.telephone import telephone_band
from voiceagent.audio.format import HEARD_HZ
from voiceagent.audio.tones import Beep, BeepDetector

KEYS = {"1": (697, 1209), "5": (770, 1336), "9": (852, 1477), "0": (941, 1336), "#": (941, 1477)}


def tone(hz: float, seconds: float) -> np.ndarray:
    return np.asarray(0.2 * np.sin(2 * np.pi * hz * np.arange(int(seconds * HEARD_HZ)) / HEARD_HZ), np.float32)


def beeps(audio: np.ndarray, shift: int = 0) -> list[Beep]:
    """Those in a sound with silence around it, as a telephone carries it; `shift` samples off the frames."""
    heard = telephone_band(np.concatenate([np.zeros(3200 + shift, np.float32), audio, np.zeros(6400, np.float32)]))
    pcm = np.round(heard * 32767).astype(np.int16)
    detector = BeepDetector()
    found = (detector.feed(frame) for frame in pcm[: len(pcm) // 320 * 320].reshape(-1, 320))
    return [beep for beep in found if beep is not None]


@pytest.mark.parametrize("hz", [310, 350, 425, 440, 523.3, 620, 775, 1000, 1137, 1400, 1650, 1990])
@pytest.mark.parametrize("seconds", [0.15, 0.4, 1.3])
def test_a_tone_is_found_wherever_it_lies_in_the_frames(hz: float, seconds: float) -> None:
    for shift in (0, 77, 160, 241):
        (beep,) = beeps(tone(hz, seconds), shift)
        assert abs(beep.hz - hz) < 12
        assert seconds * 1000 - 45 <= beep.duration_ms <= seconds * 1000 + 20


def test_a_tone_is_found_in_noise_ten_decibels_below() -> None:
    rng = np.random.default_rng(3)
    for hz in (440, 1000, 1400):
        sound = tone(hz, 0.4)
        loud = float(np.sqrt(np.mean(sound**2)))
        assert len(beeps(sound + coloured_noise(rng, len(sound), 0.5) * loud * 10 ** (-11 / 20))) == 1


@pytest.mark.parametrize("key", KEYS)
def test_a_key_of_the_telephone_is_no_beep(key: str) -> None:
    low, high = KEYS[key]
    assert not beeps((tone(low, 0.4) + tone(high, 0.4)) / 2)


@pytest.mark.parametrize(("low", "high"), [(440, 480), (400, 450), (350, 440), (480, 620), (425, 450), (400, 425), (425, 480)])
@pytest.mark.parametrize("twist_db", [-8, 0, 6])
@pytest.mark.parametrize("seconds", [0.15, 0.4, 2.0])
def test_two_tones_that_sound_together_are_no_beep(low: float, high: float, twist_db: float, seconds: float) -> None:
    if high - low < 40 and seconds < 0.4:
        pytest.skip("too short to be told apart")
    for shift in (0, 77, 241):
        assert not beeps((tone(low, seconds) + tone(high, seconds) * np.float32(10 ** (twist_db / 20))) / 2, shift)


def test_a_tone_that_is_too_short_too_low_or_too_high_or_glides_is_no_beep() -> None:
    assert not beeps(tone(1000, 0.09))
    assert not beeps(tone(180, 0.5))
    assert not beeps(tone(2600, 0.5))
    hz = np.linspace(500, 900, HEARD_HZ // 2)
    assert not beeps(np.asarray(0.2 * np.sin(2 * np.pi * np.cumsum(hz) / HEARD_HZ), np.float32))


def test_noise_is_no_beep() -> None:
    rng = np.random.default_rng(5)
    assert not [beep for exponent in (0.0, 0.5, 1.0) for beep in beeps(coloured_noise(rng, 10 * HEARD_HZ, exponent) * 0.1)]


@pytest.mark.parametrize("voice", ["en-us", "en-us+f3", "en-us+m3", "de+f2", "fr+f4", "it+m1"])
def test_voices_are_no_beep(voice: str) -> None:
    espeak = Espeak()
    text = "Oh, you do? Moon, noon, hmm, room, two, you, mmm. Hello, who is calling? One moment please, I am coming, thank you."
    for pitch in (10, 50, 80):
        assert not beeps(espeak.say(text, voice, pitch=pitch).resampled(HEARD_HZ) * 0.5)
