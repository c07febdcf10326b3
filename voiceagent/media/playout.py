"""The playout queue of a leg: clauses of PCM in, one 20 ms frame at a time out, and an exact ledger of what was sent.
Pure: the leg's pacer calls `next_frame`. Every frame carries its reply's id,
so what belongs to a dropped reply cannot be sent."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

FRAME_MS = 20
RATE_HZ = 24_000
FRAME_SAMPLES = RATE_HZ * FRAME_MS // 1000
MAX_QUEUED_S = 120.0

Position = tuple[int, int, float]
"""(reply_id, clause, played_ms): the clause's audio was sent up to there, all earlier clauses wholly."""


class Clause:
    """A clause's audio, growing while it is synthesised."""

    __slots__ = ("buffer", "complete", "index", "reply_id", "sent_samples")

    def __init__(self, reply_id: int, index: int) -> None:
        self.reply_id = reply_id
        self.index = index
        self.buffer: deque[NDArray[np.int16]] = deque()
        self.complete = False
        self.sent_samples = 0


class Playout:
    """Queue, mixer and ledger. `on_sent` is called after each frame that held reply audio."""

    def __init__(self, on_sent: Callable[[Position], None] | None = None) -> None:
        self.on_sent = on_sent
        self.frames_sent = 0
        self.underruns = 0
        self._clauses: deque[Clause] = deque()
        self._dropped: set[int] = set()
        self._last: dict[int, Position] = {}
        self._queued_samples = 0

    @property
    def queued_ms(self) -> float:
        """Audio that waits to be sent."""
        return self._queued_samples * 1000.0 / RATE_HZ

    def push(self, reply_id: int, clause: int, pcm: NDArray[np.int16], *, complete: bool) -> bool:
        """Append mono 24 kHz int16 audio to a clause, shape (samples,). False when it was refused: its reply is dropped,
        or the queue holds `MAX_QUEUED_S` seconds already."""
        if reply_id in self._dropped:
            return False
        if (self._queued_samples + len(pcm)) / RATE_HZ > MAX_QUEUED_S:
            return False
        target = next((c for c in self._clauses if c.reply_id == reply_id and c.index == clause), None)
        if target is None:
            target = Clause(reply_id, clause)
            self._clauses.append(target)
        if len(pcm):
            target.buffer.append(pcm)
            self._queued_samples += len(pcm)
        target.complete = complete
        return True

    def next_frame(self) -> NDArray[np.int16] | None:
        """The next 20 ms, shape (480,); None when there is nothing to say (send silence). A frame may join the end of one
        clause and the start of the next; it never waits for audio that is still being synthesised."""
        parts: list[NDArray[np.int16]] = []
        need = FRAME_SAMPLES
        position: Position | None = None
        while need and self._clauses:
            clause = self._clauses[0]
            while need and clause.buffer:
                head = clause.buffer[0]
                take = head[:need]
                if len(take) == len(head):
                    clause.buffer.popleft()
                else:
                    clause.buffer[0] = head[need:]
                parts.append(take)
                need -= len(take)
                clause.sent_samples += len(take)
                self._queued_samples -= len(take)
                position = (clause.reply_id, clause.index, clause.sent_samples * 1000.0 / RATE_HZ)
            if not need or not clause.complete:
                if need:
                    self.underruns += 1
                break
            if position is None:
                position = (clause.reply_id, clause.index, clause.sent_samples * 1000.0 / RATE_HZ)
            self._clauses.popleft()
        if position is None:
            return None
        self.frames_sent += 1
        self._last[position[0]] = position
        if self.on_sent is not None:
            self.on_sent(position)
        if not parts:
            return None
        frame = np.concatenate(parts) if len(parts) > 1 or need else parts[0]
        return np.pad(frame, (0, need)) if need else frame

    def drop(self, reply_id: int) -> Position:
        """Send nothing more of the reply; what was sent of it. Clause is -1 when nothing was."""
        self._dropped.add(reply_id)
        kept = deque(c for c in self._clauses if c.reply_id != reply_id)
        self._clauses = kept
        self._queued_samples = sum(len(part) for clause in kept for part in clause.buffer)
        return self._last.pop(reply_id, (reply_id, -1, 0.0))

    def finish(self, reply_id: int) -> None:
        """Forget the ledger of a reply that was wholly sent."""
        self._last.pop(reply_id, None)
