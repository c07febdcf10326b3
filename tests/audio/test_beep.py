"""Beeps: single tones of 150 ms and more are found, to their end; voices, keys, noise and shorter tones are none."""

from __future__ import annotations

import time

import numpy as np
import pytest

from models.train.espeak import Espeak
from models.train.not_speech import coloured_noise
from models.train.telephone import telephone_band
from voiceagent.audio.format import HEARD_HZ
from voiceagent.audio.tones import Beep, BeepDetector, FaxTones

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


# --- a fax ----------------------------------------------------------------------------------------------------------------


def fax_after_s(audio: np.ndarray, shift: int = 0) -> float:
    """When a fax was found in what a telephone carried; 0: never."""
    heard = telephone_band(np.concatenate([np.zeros(3200 + shift, np.float32), audio, np.zeros(6400, np.float32)]))
    pcm = np.round(heard * 32767).astype(np.int16)
    detector = FaxTones()
    found = [detector.feed(frame) for frame in pcm[: len(pcm) // 320 * 320].reshape(-1, 320)]
    return (found.index(True) + 1) * 0.02 - 0.2 if any(found) else 0.0


def calling(on_s: float, off_s: float, hz: float, times: int = 3) -> np.ndarray:
    return np.concatenate([np.concatenate([tone(hz, on_s), np.zeros(int(off_s * HEARD_HZ), np.float32)]) for _ in range(times)])


@pytest.mark.parametrize("hz", [1062, 1100, 1138])
@pytest.mark.parametrize(("on_s", "off_s"), [(0.425, 2.55), (0.5, 3.0), (0.575, 3.45)])
@pytest.mark.parametrize("shift", [0, 77, 241])
def test_a_fax_that_calls_is_found_with_its_second_tone(hz: float, on_s: float, off_s: float, shift: int) -> None:
    assert 0 < fax_after_s(calling(on_s, off_s, hz), shift) <= 2 * on_s + off_s + 0.15


@pytest.mark.parametrize("hz", [2085, 2100, 2115])
@pytest.mark.parametrize("turns", [False, True])
def test_a_fax_that_answers_is_found_within_two_seconds_of_its_tone_also_if_it_turns_round(hz: float, turns: bool) -> None:
    at_s = np.arange(int(3.0 * HEARD_HZ)) / HEARD_HZ
    phase = np.pi * (at_s // 0.45) if turns else 0.0
    swell = 1.0 + 0.2 * np.sin(2 * np.pi * 15 * at_s) if turns else 1.0
    assert 1.9 <= fax_after_s(np.asarray(0.2 * swell * np.sin(2 * np.pi * hz * at_s + phase), np.float32)) <= 2.2


def test_a_fax_is_found_in_noise_ten_decibels_below() -> None:
    rng = np.random.default_rng(3)
    for sound in (calling(0.5, 3.0, 1100), tone(2100, 3.0)):
        assert fax_after_s(sound + coloured_noise(rng, len(sound), 0.5) * np.float32(0.14 * 10 ** (-11 / 20)))


@pytest.mark.parametrize(
    "sound",
    [
        *(tone(hz, 1.6) for hz in (1000, 1100, 2100)),
        calling(0.5, 0.5, 1100),
        calling(0.25, 3.0, 1100),
        calling(1.5, 3.0, 1100),
        calling(0.5, 3.0, 1000),
        calling(0.5, 3.0, 1200),
        tone(2000, 4.0),
        tone(1100, 4.0),
        np.concatenate([tone(950, 0.33), tone(1400, 0.33), tone(1800, 0.33)] * 4),
    ],
)
def test_beeps_busy_and_information_tones_are_no_fax(sound: np.ndarray) -> None:
    assert not fax_after_s(sound)


@pytest.mark.parametrize("key", KEYS)
def test_a_key_that_is_held_is_no_fax(key: str) -> None:
    low, high = KEYS[key]
    assert not fax_after_s((tone(low, 3.0) + tone(high, 3.0)) / 2)


def test_voices_are_no_fax_and_to_listen_for_one_costs_a_thousandth_of_a_frame() -> None:
    espeak = Espeak()
    for voice in ("en-us+f3", "de+m1", "fr+f4", "en-us+f5"):
        spoken = espeak.say("Ooooh, who is it? You two knew, too. Moooove! Eeeeeh, we see three trees.", voice, pitch=90)
        assert not fax_after_s(np.asarray(spoken.resampled(HEARD_HZ), np.float32))
    detector, frame = FaxTones(), (3000 * tone(300, 0.02)).astype(np.int16)
    times = []
    for _ in range(500):
        began = time.perf_counter()
        detector.feed(frame)
        times.append(time.perf_counter() - began)
    assert sorted(times)[250] < 20e-6 * 5
