"""WebRTC's audio processing module (its echo canceller AEC3 and its noise suppressor), from the package `livekit`, which the
extra `voiceagent[noise]` installs. It takes the played audio and the microphone's audio, and returns the microphone's audio
clean. It runs in this process and opens no connection."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import HEARD_HZ, PLAYED_HZ

if TYPE_CHECKING:
    from livekit.rtc.apm import AudioProcessingModule
    from livekit.rtc.audio_frame import AudioFrame

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
