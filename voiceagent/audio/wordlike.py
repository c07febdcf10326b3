"""Estimates the chance that a sound is words. Coughs, laughs, cleared throats, sighs and hums have other melodies, spectra and
rhythms than words. A network of one small layer, fitted by `models/train/make_wordlike.sh`, weighs figures of the sound so far.
Only the telephone band counts, so that it hears browsers and telephones alike. Pure; one to three milliseconds of a core a
judgement."""

from __future__ import annotations

import functools
import math
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import HEARD_HZ

LEAD_MS = 60.0
"""The sound is judged from so long before its onset on."""
MAX_SOUND_SAMPLES = HEARD_HZ
"""The longest sound that is judged; only the end of a longer one counts."""
FRAME_SAMPLES, HOP_SAMPLES, FFT_SAMPLES = 512, 160, 1024
LOWEST_HZ, HIGHEST_HZ = 120.0, 3700.0
BANDS, CEPSTRA = 20, 8
LOWEST_PITCH_HZ, HIGHEST_PITCH_HZ = 70, 420
MIN_PERIODICITY = 0.55
"""A frame is voiced if its autocorrelation at the period is at least this share of that at zero."""
LOUD_DB = 25.0
"""Frames this far below the loudest count as silence."""
BURST_DB = 12.0
"""A burst begins where the level rises to this far below the loudest."""
EDGE_FRAMES = 8
"""The frames of each end, whose difference shows where the sound goes."""
LIMIT = 4.0
"""Figures further from the mean, in standard deviations, count as so far."""

Frames = NDArray[np.float32]


def words_chance(audio: NDArray[np.int16]) -> float | None:
    """The chance, 0 to 1, that the sound is words: mono 16 kHz from `LEAD_MS` before its onset on, shape (samples,). None if it
    is too short to be judged."""
    if len(audio) < FRAME_SAMPLES + 3 * HOP_SAMPLES:
        return None
    mean, spread, layer, layer_bias, out, out_bias = _weights()
    known = np.clip((figures(audio) - mean) / spread, -LIMIT, LIMIT)
    return round(float(1 / (1 + np.exp(-(np.tanh(known @ layer + layer_bias) @ out + out_bias)))), 3)


def figures(audio: NDArray[np.int16]) -> Frames:
    """The figures that the network weighs, shape (40,)."""
    cut = np.lib.stride_tricks.sliding_window_view(audio, FRAME_SAMPLES)[::HOP_SAMPLES]
    windows: Frames = cut.astype(np.float32) / np.float32(32768)
    windows -= windows.mean(axis=1, keepdims=True)
    level_db = 10 * np.log10(np.square(windows).mean(axis=1) + 1e-9)
    top_db = level_db.max()
    loud = level_db > top_db - LOUD_DB
    if loud.sum() < 3:
        loud[:] = True
    correlation, power = _autocorrelation((windows * _WINDOW).astype(np.float32))
    bands = np.log(power @ _BANK + 1e-7)
    cepstra = bands[loud] @ _COSINES
    return np.concatenate(
        (_rhythm(level_db, loud), _melody(correlation, loud), _spectrum(power, bands, loud), cepstra.mean(0), cepstra.std(0))
    ).astype(np.float32)


def _rhythm(level_db: Frames, loud: NDArray[np.bool_]) -> Frames:
    """Length, loudness and bursts."""
    count, top_db = len(level_db), level_db.max()
    above = np.convolve(level_db, np.ones(3) / 3, "same") > top_db - BURST_DB
    bursts = float(np.count_nonzero(above[1:] & ~above[:-1]) + above[0])
    return np.array(
        (
            np.log(count / 20),
            loud.mean(),
            level_db[loud].std(),
            bursts,
            bursts / count * 50,
            level_db.argmax() / count,
            (level_db[: max(3, count // 3)].max() - top_db) / 10,
            (level_db[-5:].mean() - top_db) / 10,
        )
    )


def _melody(correlation: Frames, loud: NDArray[np.bool_]) -> Frames:
    """The voiced share of the sound, its periodicity, and its pitch."""
    shortest, longest = HEARD_HZ // HIGHEST_PITCH_HZ, HEARD_HZ // LOWEST_PITCH_HZ
    searched = correlation[:, shortest:longest] / (correlation[:, :1] + 1e-9) / _OF_WINDOW[shortest:longest]
    periodicity = np.clip(searched.max(axis=1), 0, 1)
    pitch_st = 12 * np.log2(HEARD_HZ / (searched.argmax(axis=1) + shortest) / 100)
    voiced = loud & (periodicity > MIN_PERIODICITY)
    median_st = range_st = 0.0
    if voiced.sum() >= 3:
        median_st = float(np.median(pitch_st[voiced]))
        range_st = float(np.abs(pitch_st[voiced] - median_st).mean())
    return np.array(
        (
            voiced.sum() / loud.sum(),
            periodicity[loud].mean(),
            periodicity[loud].std(),
            _longest_run(voiced) / len(voiced),
            median_st,
            range_st,
            periodicity[-EDGE_FRAMES:].mean() - periodicity[:EDGE_FRAMES].mean(),
        )
    )


def _longest_run(flags: NDArray[np.bool_]) -> int:
    edges = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False])).astype(np.int8)))
    return int((edges[1::2] - edges[::2]).max(initial=0))


def _spectrum(power: Frames, bands: Frames, loud: NDArray[np.bool_]) -> Frames:
    """The flatness of the spectrum, its middle, its share as low as a hum, and the speed of its change."""
    heard = power[:, _IN_BAND] + 1e-9
    whole = heard.sum(axis=1)
    flatness = np.log(np.exp(np.log(heard).mean(axis=1)) / heard.mean(axis=1) + 1e-6)
    middle_khz = heard @ _KHZ / whole
    low = heard[:, _KHZ < 0.6].sum(axis=1) / whole
    change = np.abs(np.diff(bands, axis=0)).mean(axis=1)
    changes = change[loud[1:]]
    return np.array(
        (
            flatness[loud].mean(),
            flatness[loud].std(),
            middle_khz[loud].mean(),
            middle_khz[loud].std(),
            low[loud].mean(),
            low[loud].std(),
            changes.mean() if len(changes) else 0.0,
            change.max(),
            middle_khz[-EDGE_FRAMES:].mean() - middle_khz[:EDGE_FRAMES].mean(),
        )
    )


def _autocorrelation(windows: Frames) -> tuple[Frames, Frames]:
    spectrum = np.fft.rfft(windows, FFT_SAMPLES)
    power = (spectrum.real**2 + spectrum.imag**2).astype(np.float32)
    return np.fft.irfft(power).astype(np.float32), power


def _mel_bank() -> Frames:
    lowest_mel, highest_mel = (2595 * math.log10(1 + hz / 700) for hz in (LOWEST_HZ, HIGHEST_HZ))
    edges_hz = 700 * (10 ** (np.linspace(lowest_mel, highest_mel, BANDS + 2) / 2595) - 1)
    hz = np.fft.rfftfreq(FFT_SAMPLES, 1 / HEARD_HZ)[:, np.newaxis]
    low, middle, high = edges_hz[:-2], edges_hz[1:-1], edges_hz[2:]
    bank: Frames = np.maximum(np.minimum((hz - low) / (middle - low), (high - hz) / (high - middle)), 0).astype(np.float32)
    return bank


_BANK = _mel_bank()
_COSINES = (
    np.cos(np.pi / BANDS * (np.arange(BANDS)[:, np.newaxis] + 0.5) * np.arange(1, CEPSTRA + 1)) * np.sqrt(2 / BANDS)
).astype(np.float32)
_WINDOW = np.hanning(FRAME_SAMPLES).astype(np.float32)
_OF_WINDOW = _autocorrelation(_WINDOW[np.newaxis])[0][0] / np.square(_WINDOW).sum()
_HZ = np.fft.rfftfreq(FFT_SAMPLES, 1 / HEARD_HZ)
_IN_BAND = (_HZ >= LOWEST_HZ) & (_HZ <= HIGHEST_HZ)
_KHZ = (_HZ[_IN_BAND] / 1000).astype(np.float32)


@functools.cache
def _weights() -> tuple[NDArray[np.float64], ...]:
    numbers = np.array((files("voiceagent.audio") / "wordlike.txt").read_text(encoding="ascii").split(), np.float64)
    inputs, hidden = int(numbers[0]), int(numbers[1])
    shapes = ((inputs,), (inputs,), (inputs, hidden), (hidden,), (hidden,), ())
    ends = np.cumsum([2, *(int(np.prod(shape)) for shape in shapes)])
    return tuple(numbers[start:end].reshape(shape) for start, end, shape in zip(ends[:-1], ends[1:], shapes, strict=True))
