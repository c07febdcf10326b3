"""A call on one time line: the caller left, the agent right, as a stereo WAV file."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from voiceagent.errors import MediaError

MAX_S = 3600
TOLERANCE_MS = 60.0
"""Audio that comes at most this much later than the end of the earlier audio follows it directly: arrival jitters, playing does
not."""


class Lane:
    """One side's audio, each piece placed where it was said or heard."""

    def __init__(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        self._parts: list[NDArray[np.int16]] = []
        self._samples = 0

    def add(self, pcm: NDArray[np.int16], offset_ms: float) -> None:
        """Put mono int16, shape (samples,), at `offset_ms` from the start, or at the end when that place is taken. Audio beyond
        `MAX_S` is dropped."""
        if self._samples + len(pcm) > MAX_S * self._rate_hz:
            return
        gap = int(offset_ms * self._rate_hz / 1000.0) - self._samples
        if gap > TOLERANCE_MS * self._rate_hz / 1000.0:
            gap = min(gap, MAX_S * self._rate_hz - self._samples - len(pcm))
            self._parts.append(np.zeros(gap, dtype=np.int16))
            self._samples += gap
        self._parts.append(pcm)
        self._samples += len(pcm)

    def pcm(self) -> NDArray[np.int16]:
        """All of it, mono int16, shape (samples,)."""
        return np.concatenate(self._parts) if self._parts else np.zeros(0, dtype=np.int16)


class StereoRecording:
    """Both sides of a call."""

    def __init__(self, rate_hz: int) -> None:
        self.rate_hz = rate_hz
        self.caller = Lane(rate_hz)
        self.agent = Lane(rate_hz)

    def write(self, path: Path) -> None:
        """Write a stereo WAV: caller left, agent right. Raises MediaError when the file cannot be written."""
        caller, agent = self.caller.pcm(), self.agent.pcm()
        both = np.zeros((max(len(caller), len(agent)), 2), dtype="<i2")
        both[: len(caller), 0] = caller
        both[: len(agent), 1] = agent
        try:
            with path.open("wb") as raw, wave.open(raw, "wb") as file:
                file.setnchannels(2)
                file.setsampwidth(2)
                file.setframerate(self.rate_hz)
                file.writeframes(both.tobytes())
        except OSError as error:
            raise MediaError(f"{path}: cannot be written ({error.strerror}); name a writable place for the recording") from error
