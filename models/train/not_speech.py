"""Sounds that are not speech, from a seed: silence, coloured noise, hum, tones and clicks, for which Whisper is trained to write
nothing; and sudden ones, for what may start an utterance and what may not: a cough, a door slam, a hand on a keyboard, a knock.
The sudden ones' shapes follow how such sounds are made: a cough is a burst of air through the throat's resonances with or without
voice at its end, a slam is a thump with the room behind it, a key is two clicks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

KINDS = ("silence", "white", "pink", "brown", "hum", "tone", "clicks")
_Signal = npt.NDArray[np.float64]
_COLOURS = {"white": 0.0, "pink": 0.5, "brown": 1.0}


def coloured_noise(rng: np.random.Generator, samples: int, exponent: float) -> npt.NDArray[np.float32]:
    """Noise of unit deviation whose amplitude falls with frequency to the power of `exponent`: 0 white, 0.5 pink, 1 brown."""
    spectrum = np.fft.rfft(rng.standard_normal(samples))
    steps = np.maximum(np.arange(len(spectrum)), max(1, len(spectrum) // 160))
    noise = np.fft.irfft(spectrum / steps**exponent, samples)
    return np.asarray(noise / (noise.std() + 1e-9), dtype=np.float32)


def _hum(rng: np.random.Generator, at_s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    mains_hz = rng.choice([50.0, 60.0])
    hum: npt.NDArray[np.float64] = np.zeros_like(at_s)
    for harmonic in (1, 2, 3, 5, 7):
        hum += np.sin(2 * np.pi * mains_hz * harmonic * at_s) / harmonic
    return hum


def _tones(rng: np.random.Generator, at_s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    on = (at_s % rng.uniform(0.2, 2.0)) < rng.uniform(0.1, 1.5)
    pair: npt.NDArray[np.float64] = np.zeros_like(at_s)
    for tone_hz in rng.uniform(200, 2500, size=2):
        pair += np.sin(2 * np.pi * tone_hz * at_s)
    return pair * on


def _clicks(rng: np.random.Generator, samples: int) -> npt.NDArray[np.float64]:
    sound = np.zeros(samples)
    for _ in range(int(rng.integers(1, 8))):
        start, length = int(rng.integers(0, samples)), int(rng.integers(20, 1200))
        click = rng.standard_normal(length) * np.exp(-np.arange(length) / (length / 5))
        sound[start : start + length] += click[: samples - start]
    return sound


def not_speech(kind: str, seed: int, seconds: float, level_db: float, rate_hz: int = 16000) -> npt.NDArray[np.float32]:
    """A clip without speech.

    Args:
        kind: one of `KINDS`.
        seed: the same seed makes the same clip.
        seconds: its length.
        level_db: its peak-free level relative to full scale, such as -40.

    Returns:
        Mono audio in -1..1, shape (seconds · rate_hz,).
    """
    rng = np.random.default_rng(seed)
    samples = int(seconds * rate_hz)
    at_s = np.arange(samples) / rate_hz
    gain = 10 ** (level_db / 20)
    if kind == "silence":
        return np.zeros(samples, np.float32)
    if kind in _COLOURS:
        sound = coloured_noise(rng, samples, _COLOURS[kind]).astype(np.float64)
    elif kind == "hum":
        sound = _hum(rng, at_s)
    elif kind == "tone":
        sound = _tones(rng, at_s)
    else:
        sound = _clicks(rng, samples)
    hiss = rng.standard_normal(samples) * 10 ** (rng.uniform(-90, -60) / 20)
    return np.clip(sound * gain + hiss, -1, 1).astype(np.float32)


SUDDEN_KINDS = ("cough", "door slam", "keyboard", "knock")


def sudden_sound(kind: str, seed: int, rate_hz: int = 16_000, peak: float = 0.5) -> npt.NDArray[np.float32]:
    """One sound without silence around it.

    Args:
        kind: one of `SUDDEN_KINDS`.
        seed: the same seed makes the same sound.
        rate_hz: sampling rate.
        peak: the loudest sample, 1 is full scale.

    Returns:
        Mono audio in -1..1, shape (samples,): 0.1 s (a knock) to 2.5 s (typing) long.
    """
    sound = _MAKERS[kind](np.random.default_rng(seed), rate_hz)
    return np.asarray(sound / np.abs(sound).max() * peak, np.float32)


def _air(rng: np.random.Generator, samples: int, rate_hz: int, *bands: tuple[float, float, float]) -> _Signal:
    """Noise through resonances, each (centre in Hz, width in Hz, gain)."""
    spectrum = np.fft.rfft(rng.standard_normal(samples))
    at_hz = np.fft.rfftfreq(samples, 1 / rate_hz)
    shape = np.zeros_like(at_hz)
    for centre_hz, width_hz, gain in bands:
        shape += gain / (1 + ((at_hz - centre_hz) / (width_hz / 2)) ** 2)
    return np.asarray(np.fft.irfft(spectrum * shape, samples))


def _decay(samples: int, rate_hz: int, rise_ms: float, fall_ms: float) -> _Signal:
    at_ms = np.arange(samples) * 1000 / rate_hz
    return np.asarray((1 - np.exp(-at_ms / rise_ms)) * np.exp(-at_ms / fall_ms))


def _one_cough(rng: np.random.Generator, rate_hz: int) -> _Signal:
    samples = int(rng.uniform(0.25, 0.4) * rate_hz)
    throat = rng.uniform(0.85, 1.15)
    bands = ((600 * throat, 500, 1.0), (1500 * throat, 700, 0.8), (2800 * throat, 1200, 0.4), (0, 8000, 0.15))
    burst = _air(rng, samples, rate_hz, *bands) * _decay(samples, rate_hz, 2.0, rng.uniform(15, 30))
    breath = _air(rng, samples, rate_hz, *bands) * _decay(samples, rate_hz, 15.0, rng.uniform(60, 110))
    sound = burst / burst.std() + 0.6 * breath / breath.std()
    if rng.random() < 0.5:
        sound += _croak(rng, samples, rate_hz)
    return np.asarray(sound)


def _croak(rng: np.random.Generator, samples: int, rate_hz: int) -> _Signal:
    """The short, rough voice at the end of some coughs."""
    pulses = np.zeros(samples)
    at = int(rng.uniform(0.12, 0.18) * rate_hz)
    end = at + int(rng.uniform(0.04, 0.08) * rate_hz)
    while at < min(end, samples):
        pulses[at] = rng.uniform(0.4, 1.0)
        at += int(rate_hz / rng.uniform(110, 260))
    ring = np.exp(-np.arange(rate_hz // 50) / (rate_hz * 0.002)) * np.sin(2 * np.pi * 700 * np.arange(rate_hz // 50) / rate_hz)
    return np.asarray(np.convolve(pulses, ring)[:samples] * 1.5)


def _cough(rng: np.random.Generator, rate_hz: int) -> _Signal:
    return np.concatenate([_one_cough(rng, rate_hz) for _ in range(int(rng.integers(1, 4)))])


def _door_slam(rng: np.random.Generator, rate_hz: int) -> _Signal:
    samples = int(rng.uniform(0.5, 0.9) * rate_hz)
    at_s = np.arange(samples) / rate_hz
    thump = np.zeros(samples)
    for _ in range(5):
        mode_hz, fall_s = rng.uniform(50, 260), rng.uniform(0.03, 0.12)
        thump += rng.uniform(0.4, 1.0) * np.sin(2 * np.pi * mode_hz * at_s + rng.uniform(0, 6)) * np.exp(-at_s / fall_s)
    crack = rng.standard_normal(samples) * _decay(samples, rate_hz, 0.3, rng.uniform(3, 8))
    room = _air(rng, samples, rate_hz, (300, 600, 1.0), (1200, 2000, 0.3))
    room = room / room.std() * _decay(samples, rate_hz, 8.0, rng.uniform(80, 200))
    return np.asarray(thump + 0.8 * crack + 0.25 * room)


def _keyboard(rng: np.random.Generator, rate_hz: int) -> _Signal:
    sound = np.zeros(int(2.5 * rate_hz))
    at_s = 0.0
    while at_s < 2.2:
        hold_s = rng.uniform(0.05, 0.11)
        for press_s, gain in ((at_s, rng.uniform(0.5, 1.0)), (at_s + hold_s, rng.uniform(0.2, 0.5))):
            start, samples = int(press_s * rate_hz), rate_hz // 25
            bands = ((rng.uniform(1800, 4500), 1500, 1.0), (rng.uniform(200, 500), 300, 0.5))
            click = _air(rng, samples, rate_hz, *bands)
            sound[start : start + samples] += gain * click / click.std() * _decay(samples, rate_hz, 0.3, rng.uniform(2, 6))
        at_s += rng.uniform(0.09, 0.3)
    return sound


def _knock(rng: np.random.Generator, rate_hz: int) -> _Signal:
    samples = rate_hz // 10
    wood = _air(rng, samples, rate_hz, (rng.uniform(150, 500), 200, 1.0), (rng.uniform(800, 2000), 800, 0.4))
    return np.asarray(wood / wood.std() * _decay(samples, rate_hz, 0.5, rng.uniform(8, 25)))


_MAKERS: dict[str, Callable[[np.random.Generator, int], _Signal]] = {
    "cough": _cough,
    "door slam": _door_slam,
    "keyboard": _keyboard,
    "knock": _knock,
}
