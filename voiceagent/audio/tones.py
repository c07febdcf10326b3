"""Finds tones among speech: the beep of an answering machine, a fax, and the keys of a telephone. Pure.

A beep is one tone of 300 to 2000 Hz that holds its pitch for 150 ms or longer, comes once, and is followed by silence. Ring-back,
busy and information tones are two tones at once, or come again (ITU-T E.180, E.182). Each frame goes through Goertzel filters
every 50 Hz (one product with their kernels, as all are wanted); it is a tone where nearly all of its energy lies around one of
them. Two tones close to each other are told apart over several frames. Voices have harmonics and glide.

A key is two tones at once (DTMF, ITU-T Q.23). Keys are found so that they are not taken for speech: recognisers write words for
them."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import FRAME_MS, HEARD_FRAME_SAMPLES, HEARD_HZ
from voiceagent.audio.levels import FULL_SCALE, rms

STEP_HZ = HEARD_HZ / HEARD_FRAME_SAMPLES
LOWEST_HZ, HIGHEST_HZ = 300.0, 2000.0
SHORTEST_FRAMES = 6
"""A tone of 150 ms fills at least so many frames wholly."""
PURITY = 0.9
"""The part of a frame's energy that a tone has; noise 10 dB below leaves it 0.91."""
STEADY_HZ = 15.0
"""A beep's frames differ by no more; a voice's do."""
QUIETEST = 10 ** (-45 / 20)
"""A share of full scale."""
RISE = 0.4
"""The highest level before a beep, as a share of its own: it comes out of silence, a voice's steady vowel out of the voice."""
VOICE_HZ = 650.0
"""Voices are no higher: a tone below is one only if it has …"""
OVERTONES = 0.01
"""… no more of its power in an overtone."""
BESIDE_HZ = 250.0
"""The distance from a tone within which another one is searched."""
ALONE = 0.93
"""The part that one tone has of that; a second one 10 dB below leaves it less."""
_SPECTRUM_FRAMES = 12
_SPECTRUM_SAMPLES = 8_192
_AROUND = 2
"""Filters on each side that hear the tone too, through the window."""


@dataclass(frozen=True, slots=True)
class Beep:
    """A beep that is over."""

    hz: float
    duration_ms: int
    """To a frame."""


class BeepDetector:
    """Finds the beeps of one call; takes every frame in order."""

    def __init__(self) -> None:
        self.pairs = 0
        """Runs of two tones at once so far."""
        first = round(LOWEST_HZ / STEP_HZ) - _AROUND
        last = round(HIGHEST_HZ / STEP_HZ) + _AROUND
        self._first = first
        self._window = np.hanning(HEARD_FRAME_SAMPLES + 1)[:-1]
        at = np.arange(HEARD_FRAME_SAMPLES)
        self._kernels = np.exp(-2j * np.pi * np.outer(np.arange(first, last + 1), at) / HEARD_FRAME_SAMPLES)
        self._run: deque[float] = deque(maxlen=500)
        self._frames: deque[NDArray[np.int16]] = deque(maxlen=_SPECTRUM_FRAMES + 2)
        """The run's frames."""
        self._levels: deque[float] = deque([0.0, 0.0], maxlen=2)
        """The levels of the two frames before: root mean square, as a share of full scale, through the window."""

    @property
    def sounding(self) -> bool:
        """True while a tone is heard."""
        return len(self._run) >= SHORTEST_FRAMES

    def feed(self, frame: NDArray[np.int16]) -> Beep | None:
        """Hear 20 ms of mono 16 kHz, shape (320,); the beep that has just ended, if one has."""
        windowed = frame * self._window / FULL_SCALE
        energy = float(windowed @ windowed)
        level = math.sqrt(energy / HEARD_FRAME_SAMPLES)
        hz = self._tone(windowed, energy)
        over = None
        if hz is None or (self._run and abs(hz - float(np.median(self._run))) > STEADY_HZ):
            if self.sounding and self._is_one_tone():
                over = Beep(float(np.median(self._run)), len(self._run) * FRAME_MS)
            elif self.sounding:
                self.pairs += 1
            self._run.clear()
            self._frames.clear()
        begins = self._levels[0] < RISE * level  # one frame may hold both the silence and the beep
        if hz is not None and (self._run or begins):
            self._run.append(hz)
            self._frames.append(frame)
        self._levels.append(level)
        return over

    def _is_one_tone(self) -> bool:
        """True when the run's tone stands alone. Its first and last frame may hold only a part of it."""
        sound = np.concatenate(list(self._frames)[1:-1]).astype(np.float64)
        powers = np.abs(np.fft.rfft(sound * np.hanning(len(sound)), _SPECTRUM_SAMPLES)) ** 2
        hz = np.fft.rfftfreq(_SPECTRUM_SAMPLES, 1 / HEARD_HZ)
        distance = np.abs(hz - hz[int(powers.argmax())])
        width_hz = 2 * HEARD_HZ / len(sound) + 3.0  # of a tone's lobe, to each side
        return float(powers[distance <= width_hz].sum()) >= ALONE * float(powers[distance <= BESIDE_HZ].sum())

    def _tone(self, windowed: NDArray[np.float64], energy: float) -> float | None:
        """The pitch of a frame that is a tone."""
        if energy < QUIETEST**2 * HEARD_FRAME_SAMPLES * 3 / 8:
            return None
        powers = np.abs(self._kernels @ windowed) ** 2
        peak = int(powers[_AROUND:-_AROUND].argmax()) + _AROUND
        around = powers[peak - _AROUND : peak + _AROUND + 1]
        if 2.0 * float(around.sum()) / HEARD_FRAME_SAMPLES < PURITY * energy:
            return None
        if self._is_voice(powers, peak):
            return None
        centre = float(around @ np.arange(-_AROUND, _AROUND + 1)) / float(around.sum())
        return (self._first + peak + centre) * STEP_HZ

    def _is_voice(self, powers: NDArray[np.float64], peak: int) -> bool:
        """True when the sound has overtones."""
        number = self._first + peak
        if number * STEP_HZ > VOICE_HZ:
            return False
        overtones = (2 * number - self._first, 3 * number - self._first)
        return any(powers[at - 1 : at + 2].sum() > OVERTONES * powers[peak - 1 : peak + 2].sum() for at in overtones)


LONGEST_MS = 1_600
"""A longer tone is none of a machine."""
AFTER_MS = 400
"""The silence after a beep. Between the tones of most lines there is less."""
LINE_HZ = (380.0, 500.0)
"""The range of the single tones of the world's ring-back and busy lines."""
FAX_HZ, FAX_MS, AFTER_FAX_MS = (1_080.0, 1_120.0), 400, 3_500
"""A fax machine that calls (ITU-T T.30): its tone comes every 3.5 s."""
TOGETHER_MS = 700
"""Tones that follow each other sooner are a signal of the line's, such as the three of the information tone."""
BUSY_MS, AFTER_BUSY_MS = 300, 700
RING_MS, AFTER_RING_MS = 700, 6_500
"""From so long on a tone of a line's pitch may be one of busy or ring-back, and the next would come within this silence."""
SAME_HZ = 40.0
AGAIN_MS = 8_000
"""A tone of the same pitch that comes again within this time is a line's."""
LOUD = 0.5
"""A share of the beep's level. Anything louder is no silence."""
LOUD_FRAMES = 3
"""Frames of noise that a silence may contain."""


class SingleBeep:
    """Finds the answering machine's beep in one call; takes every frame in order."""

    def __init__(self) -> None:
        self._tones = BeepDetector()
        self._levels: deque[float] = deque(maxlen=8)
        self._last: Beep | None = None
        """A tone that is over, and may be the beep."""
        self._level = 0.0
        self._quiet_ms = 0.0
        self._loud = 0
        self._now_ms = 0.0
        self._line_ms = -float(AGAIN_MS)
        self._pairs = 0
        self._heard: deque[tuple[float, float]] = deque(maxlen=16)
        """The end and the pitch of each tone so far."""

    @property
    def waits(self) -> bool:
        """True while a tone is over that may yet turn out to be the beep."""
        return self._last is not None

    @property
    def is_line(self) -> bool:
        """True while a line's tone was heard lately, and may come again."""
        return self._now_ms - self._line_ms < AGAIN_MS

    def feed(self, frame: NDArray[np.int16], *, is_expected: bool = False) -> Beep | None:
        """Hear 20 ms of mono 16 kHz, shape (320,); the beep, once the silence after it has shown that it is one. `is_expected`
        says that a machine has spoken: then only what may be ring-back is waited for."""
        self._now_ms += FRAME_MS
        tone = self._tones.feed(frame)
        level = rms(frame)
        if tone is not None:
            self._end_tone(tone)
        self._levels.append(level)
        if self._tones.pairs > self._pairs:
            self._pairs, self._line_ms, self._last = self._tones.pairs, self._now_ms, None
        if self._last is None:
            return None
        if level > LOUD * self._level:
            self._loud += 1
            if self._loud > LOUD_FRAMES or self._tones.sounding:
                self._last = None
            return None
        self._quiet_ms += FRAME_MS
        if self._quiet_ms < _silence_after(self._last, is_expected=is_expected):
            return None
        beep, self._last = self._last, None
        return beep

    def _end_tone(self, tone: Beep) -> None:
        again = any(self._now_ms - at < AGAIN_MS and abs(hz - tone.hz) < SAME_HZ for at, hz in self._heard)
        follows = any(self._now_ms - tone.duration_ms - at < TOGETHER_MS for at, _ in self._heard)
        self._heard.append((self._now_ms, tone.hz))
        if again and _is_between(tone.hz, LINE_HZ):
            self._line_ms = self._now_ms
        self._last = None if again or follows or tone.duration_ms > LONGEST_MS else tone
        self._level = float(np.median(self._levels)) if self._levels else 0.0
        self._quiet_ms, self._loud = 0.0, 0


def _silence_after(tone: Beep, *, is_expected: bool) -> float:
    if _is_between(tone.hz, LINE_HZ) and tone.duration_ms >= RING_MS:
        return AFTER_RING_MS
    if is_expected:
        return AFTER_MS
    if _is_between(tone.hz, FAX_HZ) and tone.duration_ms >= FAX_MS:
        return AFTER_FAX_MS
    return AFTER_BUSY_MS if _is_between(tone.hz, LINE_HZ) and tone.duration_ms >= BUSY_MS else AFTER_MS


def _is_between(hz: float, limits: tuple[float, float]) -> bool:
    return limits[0] <= hz <= limits[1]


CALLING_HZ, CALLING_MS, CALLING_EVERY_MS = 1_100.0, (400, 600), (2_950, 4_050)
"""A fax that calls (CNG, ITU-T T.30 §4.1): half a second, and 3 s of silence, each to 15 %, and 20 ms for the frames."""
ANSWERING_HZ, ANSWERING_MS = 2_100.0, 2_000
"""A fax that answers (CED): one tone of 2.6 to 4 s, which a modem's may turn round every 450 ms. No beep is so long."""
GAP_FRAMES = 2
"""Frames that a tone may miss: where it turns round, or a packet is lost."""


class FaxTones:
    """Finds a fax machine in one call; takes every frame in order. Two products of a frame are all that it costs."""

    def __init__(self) -> None:
        bins = [round(hz / STEP_HZ) + beside for hz in (CALLING_HZ, ANSWERING_HZ) for beside in (-1, 0, 1)]
        at = np.arange(HEARD_FRAME_SAMPLES)
        self._window = np.hanning(HEARD_FRAME_SAMPLES + 1)[:-1]
        kernels = np.exp(-2j * np.pi * np.outer(bins, at) / HEARD_FRAME_SAMPLES) * self._window
        self._kernels = np.concatenate([kernels.real, kernels.imag]).astype(np.float32)
        self._now = 0
        self._runs = [_Run(), _Run()]
        self._calls: deque[int] = deque(maxlen=2)
        """The frames at which the last calling tones began."""

    def feed(self, frame: NDArray[np.int16]) -> bool:
        """Hear 20 ms of mono 16 kHz, shape (320,); True once they show that a fax is there."""
        self._now += 1
        calling, answering = self._runs
        powers = np.square((self._kernels @ frame.astype(np.float32)).reshape(2, 2, 3)).sum(axis=(0, 2))
        windowed = frame * self._window
        least = PURITY * max(float(windowed @ windowed), (QUIETEST * FULL_SCALE) ** 2 * HEARD_FRAME_SAMPLES * 3 / 8)
        is_calling, is_answering = (powers * 2.0 / HEARD_FRAME_SAMPLES >= least).tolist()
        answering.take(self._now, is_answering)
        if calling.take(self._now, is_calling) and CALLING_MS[0] <= calling.last_ms <= CALLING_MS[1]:
            self._calls.append(self._now)
        is_repeated = len(self._calls) > 1 and _is_between((self._calls[1] - self._calls[0]) * FRAME_MS, CALLING_EVERY_MS)
        return is_repeated or answering.ms >= ANSWERING_MS


class _Run:
    """A tone that sounds."""

    def __init__(self) -> None:
        self._first = self._last = -GAP_FRAMES - 1
        self.last_ms = 0
        """The length of the tone that is over."""

    @property
    def ms(self) -> int:
        """The length of the tone that sounds."""
        return (self._last - self._first + 1) * FRAME_MS if self._last > 0 else 0

    def take(self, now: int, sounds: bool) -> bool:
        """Take the next frame; True if the tone has just ended."""
        if sounds:
            if now - self._last > GAP_FRAMES + 1:
                self._first = now
            self._last = now
        is_over = now - self._last == GAP_FRAMES + 1 and self._last > 0
        if is_over:
            self.last_ms, self._last = self.ms, -GAP_FRAMES - 1
        return is_over


LOW_HZ, HIGH_HZ = (697, 770, 852, 941), (1209, 1336, 1477, 1633)
"""A key is one tone of each group."""
SHARE = 0.7
"""The two tones have at least so much of the frame's energy. Speech by telephone hardly ever comes near it. Tones that are off by
1 % reach it."""
TWIST_DB = 10.0
"""The largest difference in level between the two."""
QUIETEST_KEY_RMS = 10 ** (-45 / 20) * 32768
"""The root mean square from which a frame is looked at."""

_TIME_S = np.arange(HEARD_FRAME_SAMPLES) / HEARD_HZ
_WAVES = np.array(
    [wave(2 * np.pi * hz * _TIME_S) for hz in (*LOW_HZ, *HIGH_HZ) for wave in (np.cos, np.sin)],
    dtype=np.float32,
)


def is_key_tone(frame: NDArray[np.int16]) -> bool:
    """True when 20 ms of mono 16 kHz audio, shape (320,), are the tones of a key."""
    samples = frame.astype(np.float32)
    energy = float(samples @ samples)
    if energy < HEARD_FRAME_SAMPLES * QUIETEST_KEY_RMS**2:
        return False
    amplitudes = (_WAVES @ samples) * np.float32(2 / HEARD_FRAME_SAMPLES)
    powers = np.square(amplitudes).reshape(-1, 2).sum(axis=1)
    low, high = float(powers[: len(LOW_HZ)].max()), float(powers[len(LOW_HZ) :].max())
    twist = 10 ** (TWIST_DB / 10)
    return (low + high) * HEARD_FRAME_SAMPLES / 2 >= SHARE * energy and low <= twist * high and high <= twist * low
