"""The caller's audio between a leg, which gets it packet by packet, and the call, which reads it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.tones import is_key_tone
from voiceagent.media.audio_cleaner import AudioCleaner
from voiceagent.media.leg import InboundFrame

MAX_FRAMES = 500
"""10 s of the caller's audio may wait for their reader; then the oldest frame is dropped."""
SILENCE = np.zeros(320, np.int16)


class InboundFrames:
    """A bounded queue with one reader. `cleaner` cleans the frames for the voice detector as far as it is set to. On a
    telephone's leg the tones of keys become silence."""

    def __init__(self, cleaner: AudioCleaner | None = None, *, is_telephone: bool = False) -> None:
        self.most = MAX_FRAMES
        """The number of frames that may wait."""
        self.dropped = 0
        """Frames that were not read in time."""
        self._cleaner = cleaner or AudioCleaner()
        self._is_telephone = is_telephone
        self._waiting: deque[InboundFrame] = deque()
        self._changed = asyncio.Event()
        self._ended = False

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, pcm: NDArray[np.int16], received_ms: float, concealed: bool) -> None:
        """Add a frame; the fields are those of `InboundFrame`."""
        if self._is_telephone and is_key_tone(pcm):
            self.put_silence(received_ms)
            return
        self._add(InboundFrame(pcm, received_ms, concealed, self._cleaner.clean(pcm, received_ms)))

    def put_silence(self, at_ms: float) -> None:
        """Add a frame in which the call hears nobody. The cleaner is not to learn from it that no echo comes back."""
        self._add(InboundFrame(SILENCE, at_ms, concealed=False))

    def _add(self, frame: InboundFrame) -> None:
        if len(self._waiting) >= self.most:
            self._waiting.popleft()
            self.dropped += 1
        self._waiting.append(frame)
        self._changed.set()

    def clear(self) -> None:
        """Forget the frames that wait; they are not counted as dropped."""
        self._waiting.clear()

    def end(self) -> None:
        """The connection ended: the reader gets what waits, and no more."""
        self._ended = True
        self._cleaner.close()
        self._changed.set()

    async def read(self) -> AsyncIterator[InboundFrame]:
        """The frames in order, until `end`."""
        while True:
            while self._waiting:
                yield self._waiting.popleft()
            if self._ended:
                return
            self._changed.clear()
            await self._changed.wait()
