"""The outgoing half of a telephone stream. Frames go out at the pace of the clock, a few ahead. The peer's marks say which were
played. A pause or a cancellation drops the audio on its way. Audio that is still to be heard is then sent again."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import PLAYED_FRAME_SAMPLES
from voiceagent.media.audio_cleaner import AudioCleaner
from voiceagent.media.playout import Playout, Position
from voiceagent.telephone.codec import PhoneEncoder
from voiceagent.telephone.streams.marks import MarkLedger
from voiceagent.telephone.streams.stream import Stream

FRAME_S = 0.02
AHEAD_S = 0.06
"""The lead of the peer's audio over the clock, so that our jitter is not heard. A caller may also hear that much more after a
pause, if the peer's `clear` comes too late."""
MARK_FRAMES = 5
"""The number of frames between marks; the first frame has one, too. This shows to 100 ms what was heard."""
MAX_UNPLAYED_FRAMES = 75
"""The most frames that may be sent and not played. A peer with more has fallen behind and gets none."""

Send = Callable[[str | bytes], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Chunk:
    """The frames that go out together."""

    payload: bytes
    positions: list[Position]
    pcm: list[NDArray[np.int16]]

    @property
    def frames(self) -> int:
        """The number of frames."""
        return len(self.pcm)


class StreamPlayer:
    """Sends a playout's audio until it is cancelled: `run` is a task of its own."""

    def __init__(
        self,
        playout: Playout,
        stream: Stream,
        encoder: PhoneEncoder,
        send: Send,
        marks: MarkLedger,
        chunk_frames: int,
        cleaner: AudioCleaner,
    ) -> None:
        """`cleaner` is the leg's: it needs to know what is played, and when."""
        self.marks = marks
        self._playout = playout
        self._stream = stream
        self._encoder = encoder
        self._send = send
        self._chunk_frames = chunk_frames
        self._cleaner = cleaner
        self._clock = asyncio.get_running_loop().time
        self._wake = asyncio.Event()
        self._urgent: deque[str] = deque()
        self._played_s = 0.0
        """The time until which the peer has something to play."""
        self._unmarked: list[Position] = []
        self._unmarked_frames = 0
        self._in_flight: list[Position] = []
        """The frames of the chunk that is being sent."""
        self._epoch = 0
        """The number of times that audio on its way was dropped."""
        self._begun = False
        self._is_held = False
        """The peer accepts no more audio. It may play what it has at any time."""
        playout.on_ready = self._wake.set
        playout.on_halt = self._halt

    async def run(self) -> None:
        """Send the playout's audio, whenever there is some."""
        loop = asyncio.get_running_loop()
        while True:
            self._wake.clear()
            has_more = await self._talk()
            if not self._is_held:
                self._playout.confirm(self.marks.overdue(self._clock()))
            due_s = self._next_s(has_more)
            timer = loop.call_at(due_s, self._wake.set) if due_s is not None else None
            try:
                await self._wake.wait()
            finally:
                if timer is not None:
                    timer.cancel()

    def reached(self, name: str) -> None:
        """A mark came back."""
        self._playout.confirm(self.marks.reached(name, self._clock()))
        self._wake.set()

    def hold(self, *, held: bool) -> None:
        """The peer's queue is full, or takes audio again."""
        self._is_held = held
        self._wake.set()

    def _next_s(self, has_more: bool) -> float | None:
        if self._is_held:
            return None
        times = [] if self.marks.due_s is None else [self.marks.due_s]
        if has_more and not self._is_full:
            times.append(self._played_s - self._ahead_s + FRAME_S / 2)
        return min(times, default=None)

    @property
    def _ahead_s(self) -> float:
        return AHEAD_S + (self._chunk_frames - 1) * FRAME_S

    @property
    def _is_full(self) -> bool:
        return self._is_held or self.marks.frames + self._unmarked_frames >= MAX_UNPLAYED_FRAMES

    async def _talk(self) -> bool:
        """Send what is due now. Returns whether more may be due."""
        while True:
            while self._urgent:
                await self._send(self._urgent.popleft())
            if self._is_full or self._played_s - self._clock() > self._ahead_s - FRAME_S / 2:
                return True
            chunk = self._take()
            if chunk is None:
                await self._mark()
                self._begun = False
                return False
            epoch, self._in_flight = self._epoch, chunk.positions
            await self._send(self._stream.audio(chunk.payload))
            self._in_flight = []
            if epoch == self._epoch:
                await self._sent(chunk)

    async def _sent(self, chunk: _Chunk) -> None:
        now_s = self._clock()
        begins_s = max(self._played_s, now_s)
        begins_ms = time.monotonic() * 1000.0 + (begins_s - now_s) * 1000.0
        for number, pcm in enumerate(chunk.pcm):
            self._cleaner.played(pcm, begins_ms + number * FRAME_S * 1000.0)
        self._played_s = begins_s + chunk.frames * FRAME_S
        self._unmarked += chunk.positions
        self._unmarked_frames += chunk.frames
        if not self._begun or self._unmarked_frames >= MARK_FRAMES or self._playout.idle:
            await self._mark()
        self._begun = True

    async def _mark(self) -> None:
        if self._unmarked:
            name = self.marks.put(self._unmarked, self._unmarked_frames, self._played_s)
            self._unmarked = []
            for message in self._stream.mark(name):
                await self._send(message)
        self._unmarked_frames = 0

    def _take(self) -> _Chunk | None:
        """The next frames, padded with silence to a whole chunk; None if there is nothing to say."""
        frames: list[NDArray[np.int16]] = []
        positions: list[Position] = []
        while len(frames) < self._chunk_frames:
            frame = self._playout.take_frame()
            positions += self._playout.taken()
            if frame is None:
                break
            frames.append(frame)
        if not frames:
            self._unmarked += positions
            return None
        frames += [np.zeros(PLAYED_FRAME_SAMPLES, np.int16)] * (self._chunk_frames - len(frames))
        return _Chunk(b"".join(map(self._encoder.encode, frames)), positions, frames)

    def _halt(self, reply_id: int) -> None:
        """A reply was paused or cancelled, so the peer drops its copy."""
        unmarked = any(position[0] == reply_id for position in (*self._unmarked, *self._in_flight))
        clear = self._stream.clear()
        if not clear or not (unmarked or self.marks.hold(reply_id)):
            return
        self._epoch += 1
        self._urgent.extend(clear)
        self.marks.forget()
        self._unmarked, self._in_flight = [], []
        self._unmarked_frames, self._begun = 0, False
        self._played_s = 0.0
        self._cleaner.halted(time.monotonic() * 1000.0)
        self._encoder.restart()
        self._playout.recall()
        self._wake.set()
