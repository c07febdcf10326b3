"""Outgoing audio that the event loop's ticker paces. A source gives 20 ms of PCM at a time; encoded frames come out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio import opus
from voiceagent.audio.format import PLAYED_FRAME_SAMPLES, PLAYED_HZ
from voiceagent.media.jitter import Jitter
from voiceagent.media.ticker import PHASES, SLOT_S, Seat, Ticker

MAX_LATE_FRAMES = 3
"""The longest stall that is made up for, where nothing else is said: a listener does not wait for more."""

QUIET_AFTER_FRAMES = 10
"""Frames of silence that are sent in full; then packets stop, if silence need not be sent."""
QUIET_FRAMES = 20
"""From then on, one packet in so many frames says that the silence lasts (libopus does the same: RFC 6716 §2.1.9)."""

_SLOT_MS = SLOT_S * 1000.0

Source = Callable[[], NDArray[np.int16] | None]
"""Gives the next 20 ms, mono 24 kHz, shape (480,); None for silence."""
Send = Callable[[bytes, float, bool], None]
"""Takes a frame's payload, the time at which it is due, in milliseconds since the first, and whether speech begins with it after
a silence that was not sent, or the whole audio."""


class AudioEncoder(Protocol):
    """Makes 20 ms of audio a packet's payload."""

    def encode(self, pcm: NDArray[np.int16]) -> bytes:
        """Mono 24 kHz, shape (480,)."""
        ...


class PacedAudio:
    """`source` is asked for a frame at the moment when it is due. `sent` is called with that moment, in milliseconds of
    `time.monotonic`, once the frame was sent."""

    def __init__(
        self,
        source: Source,
        *,
        sent: Callable[[float], None] | None = None,
        encoder: AudioEncoder | None = None,
        idle: Callable[[], bool] | None = None,
        plays: Callable[[NDArray[np.int16] | None, float], None] | None = None,
        late_frames: int = MAX_LATE_FRAMES,
    ) -> None:
        """`idle` tells whether `source` would give silence. With it, long silences are not sent (DTX), and `hurry` must be called
        when they end. `plays` is called with each frame before it is handed over, and with the time at which it was due, in
        milliseconds of `time.monotonic`. `late_frames`: a stall longer than this is skipped on the time line, which leaves a gap
        in what is said; a shorter one is made up for in a burst."""
        self.skipped_frames = 0
        """Frames that were skipped because the event loop stalled."""
        self.departures = Jitter()
        self._source = source
        self._sent = sent
        self._idle = idle
        self._plays = plays
        self._late_frames = late_frames
        self._first_ms = 0.0
        """The time at which the first frame was due."""
        self._silent_frames = 0
        self._quiet = b""
        self._encoder: AudioEncoder = encoder or opus.Encoder(PLAYED_HZ)
        self._silence = np.zeros(PLAYED_FRAME_SAMPLES, dtype=np.int16)
        self._first = self._wanted = 0
        """The slots of the first frame and of the next one."""
        self._seat: Seat | None = None
        self._stopped = False

    def stop(self) -> None:
        """End the audio. May be called twice."""
        self._stopped = True
        if self._seat is not None:
            self._seat.leave()

    def hurry(self) -> None:
        """There is something to say: if packets had stopped, the next one is due now."""
        if self._seat is not None:
            self._seat.hurry()

    async def run(self, send: Send) -> None:
        """Give each frame to `send` when it is due, until `stop`. What `send` raises ends it, too."""
        begins = True
        while not self._stopped:
            await self._due()
            if self._stopped:
                return
            frame = self._source()
            due_ms = (self._wanted - self._first) * _SLOT_MS
            if self._plays is not None:
                self._plays(frame, self._first_ms + due_ms)
            begins = begins or (frame is not None and self._is_quiet)
            payload = self._payload(frame)
            self._wanted += PHASES
            sent_ms = time.monotonic() * 1000.0
            send(payload, due_ms, begins)
            begins = False
            self.departures.add(sent_ms, due_ms)
            if self._sent is not None:
                self._sent(sent_ms)

    @property
    def _is_quiet(self) -> bool:
        """True in a long silence, of which few packets are sent."""
        return self._idle is not None and self._silent_frames > QUIET_AFTER_FRAMES

    def _payload(self, frame: NDArray[np.int16] | None) -> bytes:
        if frame is not None:
            self._silent_frames = 0
            return self._encoder.encode(frame)
        self._silent_frames += 1
        if self._is_quiet:
            return self._quiet
        payload = self._encoder.encode(self._silence)
        self._quiet = opus.quiet_packet(payload)
        return payload

    async def _due(self) -> None:
        """Wait until the next frame is due. After a long stall, the frames that it cost are skipped."""
        if self._seat is None:
            self._seat = Ticker.of_running_loop().seat()
            self._first = self._wanted = await self._seat.tick(-1)
            self._first_ms = time.monotonic() * 1000.0
            return
        if self._is_quiet and self._idle is not None and self._idle():
            quiet_until = self._wanted + (QUIET_FRAMES - 1) * PHASES
            self._wanted = max(self._wanted, await self._seat.rest(self._wanted, quiet_until))
            return
        late_frames = (await self._seat.tick(self._wanted - 1) - self._wanted) // PHASES
        if late_frames > self._late_frames:
            self.skipped_frames += late_frames
            self._wanted += late_frames * PHASES
        elif late_frames > 0:
            await asyncio.sleep(0)
