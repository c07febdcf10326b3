"""The outgoing half of a telephone stream. Frames go out at the pace of the clock, a few ahead. The peer buffers them. Marks
stand behind pieces of audio, and the peer sends each mark back when it has played the piece. A pause or a cancellation drops
the audio on its way. Audio that is still to be heard is then sent again."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import PLAYED_FRAME_SAMPLES
from voiceagent.media.audio_cleaner import AudioCleaner
from voiceagent.media.playout import Playout, Position
from voiceagent.telephone.codec import PhoneEncoder
from voiceagent.telephone.messages import Stream

# --- marks ------------------------------------------------------------------------------------------------------------

GRACE_S = 2.0
"""A mark that is later than this will not come. The audio before it counts as played, at the time at which it must have been."""
FORGIVEN = 3
"""The number of missing marks in a row after which the peer is taken to send none. Later marks are not waited for, until one
comes in time."""
MAX_REMEMBERED = 64
"""The most marks that are remembered although they were given up."""


@dataclass(slots=True)
class _Mark:
    name: str
    positions: Sequence[Position]
    frames: int
    played_s: float
    """The time at which everything before it has been played, if the peer plays audio as it arrives."""


class MarkLedger:
    """The marks on their way. If the peer has dropped the audio before a mark, the mark is stale: it comes back, but means
    nothing."""

    def __init__(self, *, come_back: bool = True) -> None:
        """If marks do not `come_back`, audio counts as played at the time at which it must have been."""
        self.stale = 0
        self.missing = 0
        """The number of marks that never came back."""
        self._waiting: deque[_Mark] = deque()
        self._given_up: dict[str, float] = {}
        """The time until which a mark that was given up may still come back, by name."""
        self._count = 0
        self._come_back = come_back
        self._missing_in_a_row = 0 if come_back else FORGIVEN

    @property
    def frames(self) -> int:
        """The number of frames before marks that have not come back."""
        return sum(mark.frames for mark in self._waiting)

    @property
    def due_s(self) -> float | None:
        """The time at which the oldest mark is given up; None if none is on its way."""
        grace_s = GRACE_S if self._missing_in_a_row < FORGIVEN else 0.0
        return self._waiting[0].played_s + grace_s if self._waiting else None

    def hold(self, reply_id: int) -> bool:
        """True if audio of the reply stands before a mark that has not come back."""
        return any(position[0] == reply_id for mark in self._waiting for position in mark.positions)

    def put(self, positions: Sequence[Position], frames: int, played_s: float) -> str:
        """The name of a new mark behind these frames."""
        self._count += 1
        reply_id, clause, _ = positions[-1]
        name = f"{reply_id}.{clause}.{self._count}"
        self._waiting.append(_Mark(name, positions, frames, played_s))
        return name

    def reached(self, name: str, now_s: float) -> list[Position]:
        """A mark came back. Returns what was played: the audio before it and before earlier marks."""
        if not any(mark.name == name for mark in self._waiting):
            self.stale += 1
            if self._come_back and now_s < self._given_up.pop(name, 0.0):
                self._missing_in_a_row = 0
            return []
        self._missing_in_a_row = 0
        played: list[Position] = []
        while self._waiting:
            mark = self._waiting.popleft()
            played += mark.positions
            if mark.name == name:
                break
        return played

    def overdue(self, now_s: float) -> list[Position]:
        """The audio that counts as played because its mark is too late."""
        played: list[Position] = []
        while self.due_s is not None and now_s >= self.due_s:
            mark = self._waiting.popleft()
            played += mark.positions
            self._given_up[mark.name] = mark.played_s + GRACE_S
            if len(self._given_up) > MAX_REMEMBERED:
                del self._given_up[next(iter(self._given_up))]
            self.missing += self._come_back
            self._missing_in_a_row += 1
        return played

    def forget(self) -> None:
        """The peer has dropped the audio before all these marks."""
        self._waiting.clear()


# --- the player -------------------------------------------------------------------------------------------------------

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
