"""The part of an utterance's audio that is still needed. Frames are added at its end, and committed audio is dropped at its
start, so it stays as short as the longest window. Positions are samples since the utterance's beginning, not counting what was
left out."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray


class AudioWindow:
    """Audio from `start` to `end`."""

    def __init__(self) -> None:
        self.start = 0
        self.end = 0
        self._parts: deque[NDArray[np.int16]] = deque()

    def append(self, audio: NDArray[np.int16]) -> None:
        """Add mono 16 kHz audio, shape (samples,), to the end."""
        self._parts.append(audio)
        self.end += len(audio)

    def let_go(self, position: int) -> None:
        """Forget what lies before `position`."""
        while self._parts and self.start < position:
            head = self._parts.popleft()
            if self.start + len(head) > position:
                self._parts.appendleft(head[position - self.start :].copy())
                self.start = position
            else:
                self.start += len(head)

    def leave_out(self, start: int, end: int) -> None:
        """Forget the audio from `start` to `end`, both within the window; the audio behind it moves up."""
        audio = self._joined()
        self._parts = deque([audio[: start - self.start], audio[end - self.start :]])
        self.end -= end - start

    def between(self, start: int, end: int) -> NDArray[np.float32]:
        """Audio from `start` to `end` in -1..1."""
        audio = self._joined()[start - self.start : end - self.start]
        return audio.astype(np.float32) / np.float32(32768)

    def _joined(self) -> NDArray[np.int16]:
        return np.concatenate([np.zeros(0, np.int16), *self._parts])
