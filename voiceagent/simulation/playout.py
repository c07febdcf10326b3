"""A simulated leg's playout: clauses in order, in 20 ms frames; it pauses and resumes at a frame. It reports only the ends of
words, because nothing is decided between them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

FRAME_MS = 20.0
WORD_MS = 260.0


@dataclass(slots=True)
class VirtualClause:
    """A clause's audio, and how much of it was sent."""

    reply_id: int
    clause: int
    duration_ms: float
    sent_ms: float = 0.0


class SimulatedPlayout:
    """Plays in virtual time. Its owner calls `due` at the times that `next_ms` gives."""

    def __init__(self) -> None:
        self.queue: deque[VirtualClause] = deque()
        self.paused: set[int] = set()
        """Replies whose frames are held."""
        self._since_ms: float | None = None
        """The time for which `sent_ms` of the first clause is valid. None while nothing plays."""
        self._last: dict[int, tuple[int, float]] = {}

    def add(self, reply_id: int, clause: int, duration_ms: float, now_ms: float) -> None:
        """Queue a clause."""
        self.queue.append(VirtualClause(reply_id, clause, duration_ms))
        self._run(now_ms)

    def pause(self, reply_id: int, now_ms: float) -> None:
        """Send no frame of the reply."""
        self._reckon(now_ms)
        self.paused.add(reply_id)
        self._run(now_ms)

    def resume(self, reply_id: int, now_ms: float, from_ms: float | None = None) -> None:
        """Send the reply again. `from_ms` goes back to the beginning of a word of the first clause."""
        self.paused.discard(reply_id)
        if from_ms is not None and self.queue and self.queue[0].reply_id == reply_id:
            self.queue[0].sent_ms = min(from_ms, self.queue[0].sent_ms)
        self._run(now_ms)

    def cut(self, reply_id: int, clause: int, end_ms: float, now_ms: float) -> None:
        """Send nothing of a clause after `end_ms`, or nothing more if that was sent already."""
        self._reckon(now_ms)
        for queued in self.queue:
            if (queued.reply_id, queued.clause) == (reply_id, clause):
                queued.duration_ms = min(queued.duration_ms, max(end_ms, queued.sent_ms))
        self.queue = deque(queued for queued in self.queue if queued.sent_ms < queued.duration_ms)
        self._run(now_ms)

    def cancel(self, reply_id: int, now_ms: float) -> tuple[int, float]:
        """Remove the reply. Returns the last clause that was sent, and up to where."""
        self._reckon(now_ms)
        self.queue = deque(clause for clause in self.queue if clause.reply_id != reply_id)
        self.paused.discard(reply_id)
        self._run(now_ms)
        return self._last.pop(reply_id, (-1, 0.0))

    def next_ms(self) -> float | None:
        """The time of the next report: the first frame, or the end of a word. None while nothing plays."""
        if self._since_ms is None:
            return None
        first = self.queue[0]
        step = FRAME_MS if not first.sent_ms else WORD_MS - first.sent_ms % WORD_MS
        return self._since_ms + min(step, first.duration_ms - first.sent_ms)

    def due(self, now_ms: float) -> VirtualClause | None:
        """The first clause, with what was sent of it by now. It leaves the queue at its end."""
        if self._since_ms is None:
            return None
        self._reckon(now_ms)
        first = self.queue[0]
        if first.sent_ms >= first.duration_ms:
            self.queue.popleft()
            self._since_ms = None
            self._run(now_ms)
        return first

    def _reckon(self, now_ms: float) -> None:
        if self._since_ms is None:
            return
        first = self.queue[0]
        frames = int((now_ms - self._since_ms) / FRAME_MS + 1e-6)
        first.sent_ms = min(first.duration_ms, first.sent_ms + frames * FRAME_MS)
        self._since_ms += frames * FRAME_MS
        if first.sent_ms:
            self._last[first.reply_id] = (first.clause, first.sent_ms)

    def _run(self, now_ms: float) -> None:
        plays = bool(self.queue) and self.queue[0].reply_id not in self.paused
        if not plays:
            self._since_ms = None
        elif self._since_ms is None:
            self._since_ms = now_ms
