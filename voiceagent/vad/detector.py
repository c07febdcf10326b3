"""Finds the caller's speech: frames of 20 ms in, onset and progress out. webrtcvad (2 µs a frame) or a jump of the level opens a
gate. Behind the gate Silero confirms the onset, and it alone decides while speech lasts. Silence costs no Silero. All spans are
counted in samples, so late packets stretch nothing; only `onset_ms` and `last_voiced_ms` are on the call's clock."""

from __future__ import annotations

import functools
import importlib.util
import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec
import numpy as np
import onnxruntime
import webrtcvad
from numpy.typing import NDArray

from voiceagent.audio.format import HEARD_FRAME_SAMPLES, HEARD_HZ
from voiceagent.audio.resample import resample
from voiceagent.errors import ModelError

WINDOW_SAMPLES = 512
CONTEXT_SAMPLES = 64
STATE_SHAPE = (1, 1, 128)


def silero_file() -> Path:
    """The newest Silero model inside the installed faster-whisper (which is not imported). Raises ModelError."""
    spec = importlib.util.find_spec("faster_whisper")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    found = sorted(file for folder in folders for file in Path(folder).glob("assets/silero_vad*.onnx"))
    if not found:
        raise ModelError("no silero_vad*.onnx was found in faster-whisper's assets; install it with: pip install faster-whisper")
    return found[-1]


@functools.cache
def silero_session() -> onnxruntime.InferenceSession:
    """The session of this process; one thread, about 80 µs a window, safe to run from several threads. Raises ModelError."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 4
    file = silero_file()
    try:
        session = onnxruntime.InferenceSession(str(file), sess_options=options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors share no base
        raise ModelError(f"{file}: cannot be loaded as the Silero VAD ({str(error).splitlines()[0]})") from error
    names = {node.name for node in session.get_inputs()}
    if names != {"input", "h", "c"}:
        raise ModelError(f"{file}: has the inputs {sorted(names)}, expected c, h, input; install faster-whisper 1.2")
    return session


class VadSession(Protocol):
    """The used part of onnxruntime's session; the package has no types."""

    def run(self, outputs: Sequence[str] | None, feeds: Mapping[str, NDArray[np.float32]], /) -> Sequence[NDArray[np.float32]]:
        """The outputs of the names, or all. Raises what onnxruntime raises."""
        ...


class SileroStream:
    """Silero in one call: windows of 32 ms in, a speech probability out. The ONNX file is the one inside faster-whisper. All
    calls share the session; each has its own recurrent state. (github.com/snakers4/silero-vad, MIT)"""

    def __init__(self) -> None:
        """Raises ModelError when the model cannot be loaded."""
        self._session: VadSession = silero_session()
        self.reset()

    def reset(self) -> None:
        """Forget what was heard."""
        self._h = np.zeros(STATE_SHAPE, np.float32)
        self._c = np.zeros(STATE_SHAPE, np.float32)
        self._context = np.zeros(CONTEXT_SAMPLES, np.float32)

    def probability(self, window: NDArray[np.float32]) -> float:
        """The probability (0..1) that the next window is speech; mono 16 kHz in -1..1, shape (512,)."""
        output, self._h, self._c = self._run(np.concatenate([self._context, window]))
        self._context = window[-CONTEXT_SAMPLES:].copy()
        return float(output.reshape(-1)[0])

    def peek(self, audio: NDArray[np.float32]) -> float:
        """The probability that a window is speech which ends before the next one is complete: `CONTEXT_SAMPLES` and the window,
        shape (576,). It does not change the state."""
        return float(self._run(audio)[0].reshape(-1)[0])

    def _run(self, audio: NDArray[np.float32]) -> Sequence[NDArray[np.float32]]:
        return self._session.run(None, {"input": audio[np.newaxis], "h": self._h, "c": self._c})


BLOCK_SAMPLES = 160
SAMPLES_PER_MS = HEARD_HZ // 1000
HISTORY_WINDOWS = 4
GATE_HANG_WINDOWS = 10
QUIETEST = 10 ** (-60 / 20)
"""RMS, as a part of full scale, below which nothing opens the gate."""
FLOOR_RATE = 0.05
ABOVE_FLOOR = 1.5
JUMP = 4.0
"""A level this many times the noise opens the gate too, because webrtcvad is late on a soft fricative."""
KEPT_FRAMES = -(-(HISTORY_WINDOWS + 1) * WINDOW_SAMPLES // HEARD_FRAME_SAMPLES) + 1
"""Frames of audio that are kept for Silero: the windows before the gate opened, and the incomplete window."""
MAX_LATE_SAMPLES = HEARD_HZ // 5
"""Silero notices the end of a word at most this late: no voiced audio is placed further before its last window."""
AFTER_CLIP_SAMPLES = HEARD_HZ // 5
"""Silence behind a clip, in which a last word is still confirmed."""
IMAGE = 0.03
"""The share of the audio's mirror image about 4 kHz that Silero hears before an onset (-30 dB). Telephone speech has nothing
above 3.4 kHz, and without an image Silero finds it late or not at all. In wide-band speech the image is covered (spectral
folding, Makhoul and Berouti 1979). Once speech has begun, Silero would take steady noise for more of it."""

_SCALE = np.float32(1 / 32768)
_WITH_IMAGE = (1 + IMAGE * np.resize([1, -1], CONTEXT_SAMPLES + WINDOW_SAMPLES)).astype(np.float32)
"""Audio times this is the audio and its image, because every other sample's sign mirrors the spectrum about 4 kHz."""


def speech_probabilities(pcm: NDArray[np.int16]) -> NDArray[np.float32]:
    """The probability that each whole window of 32 ms is speech, of a recording: mono 16 kHz, shape (samples,). Raises
    ModelError."""
    silero = SileroStream()
    windows = pcm[: len(pcm) // WINDOW_SAMPLES * WINDOW_SAMPLES].astype(np.float32).reshape(-1, WINDOW_SAMPLES) * _SCALE
    return np.array([silero.probability(window) for window in windows * _WITH_IMAGE[:WINDOW_SAMPLES]], np.float32)


@dataclass(frozen=True, slots=True)
class DetectorOptions:
    """Thresholds of the detector."""

    confirm_ms: float = 64.0
    """Speech that confirms an onset, rounded up to windows of 32 ms."""
    threshold: float = 0.5
    """Silero's probability from which a window is speech."""
    sure: float = 0.6
    """Probability from which the newest 32 ms alone confirm an onset; above 1 they never do."""
    release: float = 0.35
    """Probability below which a window is no speech, once speech has begun."""
    preroll_ms: float = 200.0
    """Audio before the onset that `SpeechOnset` carries."""
    max_refine_ms: float = 80.0
    """The furthest that webrtcvad may move an onset before Silero's first window."""
    below_peak_db: float = 30.0
    """Audio this far below the utterance's loudest, or near the noise before it, is not voiced. It is needed because Silero
    notices the end of a word late."""


class SpeechProgress(msgspec.Struct, frozen=True):
    """The state of the open utterance after a frame."""

    voiced_ms: float
    """Speech so far, pauses left out."""
    silence_ms: float
    """Audio received since the last voiced sample."""
    last_voiced_ms: float
    """The arrival of the last voiced sample, on the call's clock."""


class SpeechOnset(SpeechProgress, frozen=True):
    """The caller began to speak."""

    onset_ms: float
    """The arrival of the first voiced sample, on the call's clock."""
    audio: NDArray[np.int16]
    """Mono 16 kHz from `preroll_ms` before the onset up to and including this frame, shape (samples,). It is shorter if an
    utterance with words ended within that time."""


class SpeechDetector:
    """One call's detector. Feed every frame of the caller, in order."""

    def __init__(self, options: DetectorOptions | None = None) -> None:
        """Raises ModelError when Silero cannot be loaded."""
        self.options = options or DetectorOptions()
        self.silero_windows = 0
        self._confirm_windows = max(1, math.ceil(self.options.confirm_ms * SAMPLES_PER_MS / WINDOW_SAMPLES))
        self._gate = webrtcvad.Vad(2)
        self._silero = SileroStream()
        kept_ms = self.options.preroll_ms + self.options.max_refine_ms + 1000
        self._frames: deque[tuple[int, float, bool, NDArray[np.int16]]] = deque(maxlen=int(kept_ms // 20))
        self._levels: deque[tuple[int, float]] = deque(maxlen=16)
        self._audio = np.zeros(KEPT_FRAMES * HEARD_FRAME_SAMPLES, np.float32)
        """The audio received last, in -1..1."""
        self._received = 0
        self._windowed = 0
        """The end of the newest complete window."""
        self._heard = 0
        """The end of the newest window that Silero judged."""
        self._gate_windows = 0
        self._floor = QUIETEST
        self._earlier = 0
        """The end of the last voiced block of the last utterance with words."""
        self._forget_speech()

    @property
    def speaking(self) -> bool:
        """True while an utterance is open."""
        return self._speaking

    def end(self, *, has_words: bool = True) -> None:
        """The utterance was endpointed. The next speech is a new onset. If the utterance has words, the next one's audio has
        nothing that was voiced in it. If it has none, it may be the beginning of the next one: Silero can waver for 300 ms in
        a soft first word."""
        if has_words:
            self._earlier = self._last_voiced
        self._forget_speech()

    def _forget_speech(self) -> None:
        self._speaking = False
        self._run = 0
        self._run_start = 0
        self._peak = 0.0
        self._voiced = 0
        self._judged = 0
        self._last_voiced = 0
        self._last_voiced_ms = 0.0

    def feed(self, frame: NDArray[np.int16], at_ms: float, heard: NDArray[np.int16] | None = None) -> SpeechProgress | None:
        """Hear 20 ms of mono 16 kHz audio, shape (320,), whose last sample was received at `at_ms` on the call's clock.
        None while nobody speaks, `SpeechOnset` once, in the frame that confirms it, then `SpeechProgress` at each frame
        until `end`. `heard` is what `SpeechOnset` is to carry in place of the frame."""
        if frame.shape != (HEARD_FRAME_SAMPLES,):
            raise ValueError(f"frame of shape {frame.shape}: expected ({HEARD_FRAME_SAMPLES},), 20 ms at {HEARD_HZ} Hz")
        audio = self._audio
        audio[:-HEARD_FRAME_SAMPLES] = audio[HEARD_FRAME_SAMPLES:]
        np.multiply(frame, _SCALE, out=audio[-HEARD_FRAME_SAMPLES:])
        level, newest_level = _level(audio[-HEARD_FRAME_SAMPLES:-BLOCK_SAMPLES]), _level(audio[-BLOCK_SAMPLES:])
        loudest = max(level, newest_level)
        gated = loudest > QUIETEST and bool(self._gate.is_speech(frame.tobytes(), HEARD_HZ))
        self._received += HEARD_FRAME_SAMPLES
        self._levels.append((self._received - BLOCK_SAMPLES, level))
        self._levels.append((self._received, newest_level))
        self._frames.append((self._received, at_ms, gated, frame if heard is None else heard))
        if gated or loudest > max(QUIETEST, self._floor * JUMP):
            self._open_gate()
        elif not self._speaking:
            self._floor += FLOOR_RATE * ((level + newest_level) / 2 - self._floor)
        onset = False
        while self._received - self._windowed >= WINDOW_SAMPLES:
            self._windowed += WINDOW_SAMPLES
            if self._speaking or self._gate_windows:
                onset = self._hear() or onset
        if not self._speaking and self._gate_windows and self._received > self._windowed:
            onset = self._peek()
        if not self._speaking:
            return None
        silence_ms = (self._received - self._last_voiced) / SAMPLES_PER_MS
        voiced_ms = self._voiced / SAMPLES_PER_MS
        if not onset:
            return SpeechProgress(voiced_ms, silence_ms, self._last_voiced_ms)
        start = max(self._refined_onset(), self._earlier)
        audio_from = max(start - self.options.preroll_ms * SAMPLES_PER_MS, self._earlier)
        heard = np.concatenate([kept for end, _, _, kept in self._frames if end > audio_from])
        return SpeechOnset(voiced_ms, silence_ms, self._last_voiced_ms, self._clock_ms(start), heard)

    def _open_gate(self) -> None:
        if not self._speaking and not self._gate_windows:
            self._silero.reset()
            self._run = 0
            unheard = min(HISTORY_WINDOWS, (self._windowed - self._heard) // WINDOW_SAMPLES)
            for start in range(self._windowed - unheard * WINDOW_SAMPLES, self._windowed, WINDOW_SAMPLES):
                self._count_run(self._probability(start), start)
        self._gate_windows = GATE_HANG_WINDOWS

    def _probability(self, start: int) -> float:
        """Silero's probability for the window that starts at `start`."""
        self.silero_windows += 1
        self._heard = start + WINDOW_SAMPLES
        first = len(self._audio) - (self._received - start)
        window = self._audio[first : first + WINDOW_SAMPLES]
        return self._silero.probability(window if self._speaking else window * _WITH_IMAGE[:WINDOW_SAMPLES])

    def _count_run(self, probability: float, start: int) -> None:
        """Count a run of speech windows. A sure window begins it; any window that is not surely silence continues it."""
        if probability >= self.options.threshold:
            if not self._run:
                self._run_start = start
            self._run += 1
        elif probability < self.options.release:
            self._run = 0

    def _hear(self) -> bool:
        """Judge the window that ends at `_windowed`; True when it confirms an onset."""
        start = self._windowed - WINDOW_SAMPLES
        probability = self._probability(start)
        if self._speaking:
            if probability >= self.options.release:
                self._extend(start, self._windowed)
            return False
        self._gate_windows -= 1
        self._count_run(probability, start)
        if self._run < self._confirm_windows and probability < self.options.sure:
            return False
        self._begin(self._windowed)
        return True

    def _peek(self) -> bool:
        """Judge the newest 32 ms although their window is not complete; True when they confirm an onset."""
        self.silero_windows += 1
        if self._silero.peek(self._audio[-(WINDOW_SAMPLES + CONTEXT_SAMPLES) :] * _WITH_IMAGE) < self.options.sure:
            return False
        if not self._run:
            self._run_start = self._received - WINDOW_SAMPLES
        self._begin(self._received)
        return True

    def _begin(self, end: int) -> None:
        """Speech up to `end` confirmed an onset."""
        self._speaking = True
        self._gate_windows = 0
        self._extend(self._run_start, end)

    def _extend(self, start: int, end: int) -> None:
        """Windows from `start` to `end` are speech: the loud ones among them are voiced."""
        blocks = [(at, level) for at, level in self._levels if max(start, self._judged) < at <= end]
        self._judged = end // BLOCK_SAMPLES * BLOCK_SAMPLES
        self._peak = max([self._peak, *(level for _, level in blocks)])
        audible = self._audible()
        loud = [at for at, level in blocks if level >= audible]
        self._voiced += len(loud) * BLOCK_SAMPLES
        last = max([self._last_voiced, end - MAX_LATE_SAMPLES, *loud])
        if last > self._last_voiced:
            self._last_voiced = last
            self._last_voiced_ms = self._clock_ms(last)

    def _audible(self) -> float:
        """The level from which a block of this utterance is voiced: near its peak, and clearly above the noise before it."""
        quiet = self._peak * 10 ** (-self.options.below_peak_db / 20)
        return max(quiet, min(self._floor * ABOVE_FLOOR, self._peak / 4))

    def _refined_onset(self) -> int:
        """The start of Silero's first window, moved back over frames that webrtcvad calls speech, or forward over silence in
        it."""
        earliest = self._run_start - self.options.max_refine_ms * SAMPLES_PER_MS
        onset = self._run_start
        for end, _, gated, _ in reversed(self._frames):
            if end <= self._run_start:
                if not gated or end - HEARD_FRAME_SAMPLES < earliest:
                    break
                onset = end - HEARD_FRAME_SAMPLES
        if onset < self._run_start:
            return onset
        audible = self._audible()
        loud = [at - BLOCK_SAMPLES for at, level in self._levels if at > onset and level >= audible]
        return max(onset, loud[0]) if loud else onset

    def _clock_ms(self, sample: int) -> float:
        """The arrival of a sample that is still in the ring."""
        for end, at_ms, _, _ in self._frames:
            if end >= sample:
                return at_ms - min(end - sample, HEARD_FRAME_SAMPLES) / SAMPLES_PER_MS
        return self._frames[-1][1]


def has_speech(pcm: NDArray[np.int16], rate_hz: int) -> bool:
    """True when a call's detector would find speech in this mono clip, shape (samples,). Raises ModelError."""
    detector = SpeechDetector()
    clip = np.append(resample(pcm, rate_hz, HEARD_HZ), np.zeros(AFTER_CLIP_SAMPLES, np.int16))
    starts = range(0, len(clip) - HEARD_FRAME_SAMPLES + 1, HEARD_FRAME_SAMPLES)
    return any(detector.feed(clip[start : start + HEARD_FRAME_SAMPLES], start / SAMPLES_PER_MS) for start in starts)


def _level(audio: NDArray[np.float32]) -> float:
    """The root mean square."""
    return math.sqrt(float(audio.dot(audio)) / len(audio))
