"""The agent's audio on its way to a client that plays it by itself. It is sent a little ahead of the clock. What was heard is the
audio time since it was sent, until the client says that it has played less."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import FRAME_MS
from voiceagent.media.audio_cleaner import AudioCleaner
from voiceagent.media.playout import Playout, Position

FRAME_S = FRAME_MS / 1000.0
AHEAD_S = 0.4
"""The lead of the client's audio over the clock. A network that stalls for less is not heard; a caller who interrupts hears no
more than this, even if the client does not stop by itself."""
PIECE_FRAMES = 5
"""The frames that are sent together, once a reply is under way."""

Deliver = Callable[[Position, int, NDArray[np.int16]], None]
"""Called with the position at the end of a piece of audio, the clause that it begins in, and the audio: mono 24 kHz, shape
(samples,)."""


class EventPlayer:
    """Takes a playout's audio until it is cancelled: `run` is a task of its own."""

    def __init__(self, playout: Playout, deliver: Deliver, cleaner: AudioCleaner) -> None:
        self._playout: Playout
        self._is_stopped = False
        self._deliver = deliver
        self._cleaner = cleaner
        self._clock = asyncio.get_running_loop().time
        self._wake = asyncio.Event()
        self._played_s = 0.0
        """The time until which the client has something to play."""
        self._unplayed: deque[tuple[float, list[Position]]] = deque()
        """The frames that were sent, each with the time at which it is over."""
        self.play(playout)

    def play(self, playout: Playout) -> None:
        """Take this playout's audio from now on."""
        self._playout = playout
        playout.on_ready, playout.on_halt = self._wake.set, self._halt
        self._wake.set()

    def stop(self) -> None:
        """Take no more: the client plays nothing any more."""
        if not self._is_stopped:
            self._confirm()
            self._is_stopped = True
            self._unplayed.clear()

    async def run(self) -> None:
        """Send the playout's audio, whenever there is some."""
        loop = asyncio.get_running_loop()
        while True:
            self._wake.clear()
            self._confirm()
            has_more = self._send()
            due_s = self._next_s(has_more)
            timer = loop.call_at(due_s, self._wake.set) if due_s is not None else None
            try:
                await self._wake.wait()
            finally:
                if timer is not None:
                    timer.cancel()

    def _next_s(self, has_more: bool) -> float | None:
        times = [self._unplayed[0][0]] if self._unplayed else []
        if has_more:
            times.append(self._played_s - AHEAD_S + PIECE_FRAMES * FRAME_S)
        return min(times, default=None)

    def _confirm(self) -> None:
        """Enter what the client has played by now."""
        now_s = self._clock()
        while self._unplayed and self._unplayed[0][0] <= now_s + 1e-4:
            self._playout.confirm(self._unplayed.popleft()[1])

    def _send(self) -> bool:
        """Send what is due. Returns whether there may be more."""
        now_s = self._clock()
        if self._is_stopped:
            return False
        if self._played_s - now_s > AHEAD_S - PIECE_FRAMES * FRAME_S + 1e-4:
            return True
        parts: list[NDArray[np.int16]] = []
        place: tuple[int, int] | None = None
        end: Position | None = None
        while self._played_s - now_s < AHEAD_S - 1e-4:
            frame = self._playout.take_frame()
            positions = self._playout.taken()
            if frame is None:
                if positions:  # the end of a clause that had no more audio
                    self._unplayed.append((max(self._played_s, now_s), positions))
                self._flush(place, end, parts)
                return False
            begins_s = max(self._played_s, now_s)
            self._cleaner.played(frame, (time.monotonic() + begins_s - now_s) * 1000.0)
            self._played_s = begins_s + FRAME_S
            self._unplayed.append((self._played_s, positions))
            here = positions[0][:2] if positions else place
            if here != place:
                self._flush(place, end, parts)
                parts, place = [], here
            end = positions[-1] if positions else end
            parts.append(frame)
        self._flush(place, end, parts)
        return True

    def _flush(self, place: tuple[int, int] | None, end: Position | None, parts: list[NDArray[np.int16]]) -> None:
        if place is not None and end is not None and parts:
            self._deliver(end, place[1], np.concatenate(parts))

    def _halt(self, reply_id: int) -> None:
        """A reply was paused or cancelled. A paused one is played as far as it is on its way. Of a cancelled one the client drops
        the rest, and may say where."""
        if not self._playout.is_paused(reply_id):
            self._played_s = 0.0
        self._cleaner.halted(time.monotonic() * 1000.0)
        self._wake.set()
