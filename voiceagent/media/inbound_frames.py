"""The caller's audio between a leg, which gets it packet by packet, and the call, which reads it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator

import numpy as np
from numpy.typing import NDArray

from voiceagent.media.leg import InboundFrame

MAX_FRAMES = 500
"""10 s of the caller's audio may wait for their reader; then the oldest frame is dropped."""


class InboundFrames:
    """A bounded queue with one reader."""

    def __init__(self) -> None:
        self.dropped = 0
        """Frames that were not read in time."""
        self._waiting: deque[InboundFrame] = deque()
        self._changed = asyncio.Event()
        self._ended = False

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, pcm: NDArray[np.int16], received_ms: float, concealed: bool) -> None:
        """Add a frame; the fields are those of `InboundFrame`."""
        if len(self._waiting) >= MAX_FRAMES:
            self._waiting.popleft()
            self.dropped += 1
        self._waiting.append(InboundFrame(pcm, received_ms, concealed))
        self._changed.set()

    def clear(self) -> None:
        """Forget the frames that wait; they are not counted as dropped."""
        self._waiting.clear()

    def end(self) -> None:
        """The connection ended: the reader gets what waits, and no more."""
        self._ended = True
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
