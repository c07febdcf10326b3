"""Echo and noise in a caller's audio. `VoiceProcessor` takes them out, by WebRTC's audio processing module (its echo canceller
AEC3 and its noise suppressor) from the package `livekit`, which the extra `voiceagent[noise]` installs: it takes the played
audio and the microphone's audio, and returns the microphone's audio clean, in this process and without a connection.
`EchoEvidence` finds out whether there is an echo at all."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import HEARD_HZ, PLAYED_HZ

if TYPE_CHECKING:
    from livekit.rtc.apm import AudioProcessingModule
    from livekit.rtc.audio_frame import AudioFrame
from collections import deque

PACKAGE = "livekit"
MODULE = "livekit.rtc"
"""Other packages have a part of `livekit`, too."""
EXTRA = "voiceagent[noise]"
BLOCKS_A_SECOND = 100
"""The module takes 10 ms at a time."""
NOTHING_PLAYED = np.zeros(0, np.int16)


def is_installed(package: str = PACKAGE) -> bool:
    """True when the package is installed."""
    return importlib.util.find_spec(package) is not None and importlib.util.find_spec(MODULE) is not None


def load() -> None:
    """Load the package, which takes 0.1 s, before the first voice processor is made on an event loop. Raises ImportError where it
    is absent or cannot be loaded."""
    VoiceProcessor(echo=True, noise=True).close()


class VoiceProcessor:
    """Cleans the audio of one microphone. `close` frees it."""

    def __init__(self, *, echo: bool = False, noise: bool = False) -> None:
        """Takes out the named sounds. Raises ImportError where the package is absent or does not load."""
        from livekit.rtc.apm import AudioProcessingModule

        self._has_echo = echo
        self._module: AudioProcessingModule | None = AudioProcessingModule(echo_cancellation=echo, noise_suppression=noise)

    def clean(self, pcm: NDArray[np.int16], played: NDArray[np.int16] = NOTHING_PLAYED) -> NDArray[np.int16]:
        """Returns the recording (mono 16 kHz, whole 10 ms) without noise and without the echo of `played` (mono 24 kHz), now and
        before. As many samples come out, 6 ms late for noise, 8 ms for echo. Raises RuntimeError when it is closed or the module
        refuses."""
        if self._module is None:
            raise RuntimeError("the voice processor is closed")
        if self._has_echo:
            for block in played.reshape(-1, PLAYED_HZ // BLOCKS_A_SECOND):
                self._module.process_reverse_stream(_frame(block, PLAYED_HZ))
        cleaned: list[NDArray[np.int16]] = []
        for block in pcm.reshape(-1, HEARD_HZ // BLOCKS_A_SECOND):
            frame = _frame(block, HEARD_HZ)
            self._module.process_stream(frame)
            cleaned.append(np.frombuffer(frame.data, np.int16))
        return np.concatenate(cleaned)

    def close(self) -> None:
        """Free it. May be called twice."""
        self._module = None  # the last reference: its handle frees the native object


def _frame(block: NDArray[np.int16], rate_hz: int) -> AudioFrame:
    from livekit.rtc.audio_frame import AudioFrame

    return AudioFrame(bytearray(block.tobytes()), rate_hz, 1, len(block))


WINDOW_FRAMES = 50
"""1 s of the caller's audio, in frames of 20 ms, is compared."""
LAGS = 20
LOOKED_EVERY_FRAMES = 5
PLAYED_FRAMES = 30
"""Frames of the window that must hold sound that was played."""
PLAYED_RMS = 100.0
"""A level on a full scale of 32768: softer frames are silence, or nearly."""
ALIKE = 0.6
"""Correlation of the levels, in decibels, from which it is an echo. Measured: 0.43 to 0.98 for echoes 6 to 20 dB below what is
played, at most 0.61 for noise, 0.3 at the median for somebody else's voice."""
UNLIKE = 0.4
LOOKS_TO_FORGET = 2
LOOKS_TO_FORGET_FOUND = 20
"""The number of comparisons in a row that must be unlike before there is no echo: fewer as long as none was found."""


class EchoEvidence:
    """Looks for the echo of one caller: the levels of their audio and of the audio played to them are alike, at a delay up to
    400 ms. Without an echo, an echo canceller that does not know it yet takes the caller's own voice for one. Feed each frame of
    the caller with the frame that was played at its time."""

    def __init__(self) -> None:
        self.is_likely = True
        """Until it is known better."""
        self._found = False
        self._unlike = 0
        self._frames = 0
        self._came: deque[float] = deque(maxlen=WINDOW_FRAMES)
        self._played: deque[float] = deque(maxlen=WINDOW_FRAMES + LAGS)

    def feed(self, came: NDArray[np.int16], played: NDArray[np.int16]) -> None:
        """20 ms each, at any rate."""
        self._came.append(_power(came))
        self._played.append(_power(played))
        self._frames += 1
        if self._frames % LOOKED_EVERY_FRAMES or len(self._played) < WINDOW_FRAMES + LAGS:
            return
        loud = sum(power > PLAYED_RMS**2 for power in list(self._played)[-WINDOW_FRAMES:])
        if loud >= PLAYED_FRAMES:
            self._judge(_alike(np.array(self._came), np.array(self._played)))

    def _judge(self, alike: float) -> None:
        if alike >= ALIKE:
            self.is_likely = self._found = True
        self._unlike = self._unlike + 1 if alike < UNLIKE else 0
        if self._unlike >= (LOOKS_TO_FORGET_FOUND if self._found else LOOKS_TO_FORGET):
            self.is_likely = self._found = False


def _power(pcm: NDArray[np.int16]) -> float:
    samples = pcm.astype(np.float32)
    return float(samples.dot(samples)) / len(samples)


def _alike(came: NDArray[np.float64], played: NDArray[np.float64]) -> float:
    """The highest correlation of the two in decibels, where `came` is 0 to `LAGS` - 1 frames later."""
    late = np.log10(came + 1)
    late -= late.mean()
    windows = np.lib.stride_tricks.sliding_window_view(np.log10(played + 1), len(late))[1:]
    windows = windows - windows.mean(axis=1, keepdims=True)
    scale = np.sqrt(np.square(windows).sum(axis=1) * np.square(late).sum())
    return float(np.max(windows @ late / np.maximum(scale, 1e-9)))
