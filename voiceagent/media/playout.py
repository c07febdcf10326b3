"""The playout queue of a leg: clauses of PCM in, one 20 ms frame at a time out, and an exact ledger of what was sent.
Pure: the leg's pacer calls `take_frame`, and `confirm_sent` once the frame is on its way. Every frame carries its reply's id,
so frames of a dropped reply cannot be sent.

A leg whose peer keeps audio before it plays it enters a frame in the ledger only when the peer says that it was played
(`taken`, `confirm`), and takes back what a pause or a cancellation finds on its way (`on_halt`, `recall`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import PLAYED_FRAME_SAMPLES, PLAYED_HZ
from voiceagent.audio.levels import Limiter

FADE_SAMPLES = PLAYED_HZ * 5 // 1000
MAX_REWIND_SAMPLES = PLAYED_HZ * 10
"""The audio of a clause, sent last, that is kept so that playout can go back to what was not heard; and as much of the clauses of
the same reply before it."""
FULL_S = 30.0
"""With this much audio to send, in seconds, the queue is full and synthesis waits."""
MAX_REMEMBERED = 1024
"""The number of dropped replies, and of replies with a ledger, that are remembered. The oldest are forgotten (reply ids rise)."""

CUE = -1
"""The number of the clause that holds a cue: it is said before all that waits, and enters no ledger."""

Position = tuple[int, int, float]
"""(reply_id, clause, played_ms): the clause's audio was sent up to there, and all earlier clauses completely."""


class PlayoutClause:
    """A clause's audio, growing while it is synthesised."""

    __slots__ = ("buffer", "complete", "index", "is_cut", "recent", "recent_samples", "reply_id", "sent_samples")

    def __init__(self, reply_id: int, index: int) -> None:
        self.reply_id = reply_id
        self.index = index
        self.buffer: deque[NDArray[np.int16]] = deque()
        self.complete = False
        self.is_cut = False
        self.sent_samples = 0
        self.recent: deque[NDArray[np.int16]] = deque()
        """The audio that was sent last."""
        self.recent_samples = 0

    def sent(self, part: NDArray[np.int16]) -> None:
        """The next part of its audio was sent."""
        self.sent_samples += len(part)
        self.recent.append(part)
        self.recent_samples += len(part)
        while self.recent_samples - len(self.recent[0]) >= MAX_REWIND_SAMPLES:
            self.recent_samples -= len(self.recent.popleft())

    def go_back(self, samples: int) -> int:
        """Have up to this much of it sent again; returns how much it is."""
        if samples <= 0 or not self.recent:
            return 0
        joined = np.concatenate(self.recent)
        again = joined[-samples:]
        self.recent = deque([joined[: -len(again)]] if len(again) < len(joined) else [])
        self.recent_samples -= len(again)
        self.buffer.appendleft(again)
        self.sent_samples -= len(again)
        return len(again)

    @property
    def position(self) -> Position:
        """The place up to which its audio was taken."""
        return (self.reply_id, self.index, self.sent_samples * 1000.0 / PLAYED_HZ)


class Playout:
    """Queue, mixer and ledger. `on_sent` is called after each frame that held reply audio, `on_ready` whenever there may be
    something to say again."""

    def __init__(self, on_sent: Callable[[Position], None] | None = None, on_ready: Callable[[], None] | None = None) -> None:
        self.on_sent = on_sent
        self.on_ready = on_ready
        self.on_halt: Callable[[int], None] | None = None
        """Set by a leg whose peer keeps audio; called with a reply that is paused or cancelled, whose audio on its way is not to
        be played."""
        self.on_taken: Callable[[NDArray[np.int16]], None] | None = None
        """Called with each frame that is taken, for a recording."""
        self.listeners: set[Callable[[NDArray[np.int16]], None]] = set()
        """The same, for those who listen in."""
        self.limiter: Limiter | None = None
        """Sets the level of what is taken, if the leg needs another one."""
        self.on_recalled: Callable[[], None] | None = None
        """Called when what is on its way is not played after all."""
        self.frames_sent = 0
        """Frames taken that held reply audio."""
        self.underruns = 0
        """Frames that a clause left (partly) empty after it had begun, because its synthesis was slow."""
        self._clauses: deque[PlayoutClause] = deque()
        self._paused: set[int] = set()
        self._fade_in = False
        self._tail: NDArray[np.int16] | None = None
        """The fading end of a reply that was paused in the middle of a sound. It is sent, but it is in no ledger, because the
        audio is sent again."""
        self._gains: dict[int, float] = {}
        """The gains of replies that are not at their full level."""
        self._gain = 1.0
        """The gain with which the last frame ended."""
        self._cancelled: dict[int, None] = {}
        self._last: dict[int, Position] = {}
        self._taken: list[Position] = []
        self._unconfirmed: deque[PlayoutClause] = deque()
        """Clauses that were taken to their end and are on their way, where `on_halt` is set."""
        self._past: deque[PlayoutClause] = deque()
        """Clauses that were sent completely, while their reply goes on."""
        self._queued_samples = 0

    @property
    def queued_ms(self) -> float:
        """Audio that waits to be sent, in milliseconds."""
        return self._queued_samples * 1000.0 / PLAYED_HZ

    def is_paused(self, reply_id: int) -> bool:
        """True while nothing of the reply is sent for now."""
        return reply_id in self._paused

    @property
    def idle(self) -> bool:
        """True while there is nothing to play."""
        return self._tail is None and (not self._clauses or self._clauses[0].reply_id in self._paused)

    @property
    def full(self) -> bool:
        """True while nothing more should be synthesised. Audio that was synthesised is accepted all the same."""
        return self._queued_samples >= FULL_S * PLAYED_HZ

    def push(self, reply_id: int, clause: int, pcm: NDArray[np.int16], *, complete: bool) -> bool:
        """Append mono 24 kHz int16 audio to a clause, shape (samples,). Clauses play in the order of their first push. False
        when it was refused: its reply is dropped."""
        if reply_id in self._cancelled:
            return False
        target = self._find(reply_id, clause)
        if target is None:
            target = PlayoutClause(reply_id, clause)
            self._clauses.append(target)
        if target.is_cut:
            return True
        if len(pcm):
            target.buffer.append(pcm)
            self._queued_samples += len(pcm)
        target.complete = complete
        self._tell_ready()
        return True

    def _find(self, reply_id: int, clause: int) -> PlayoutClause | None:
        return next((c for c in self._clauses if c.reply_id == reply_id and c.index == clause), None)

    def _tell_ready(self) -> None:
        if self.on_ready is not None and not self.idle:
            self.on_ready()

    def take_frame(self) -> NDArray[np.int16] | None:
        """See `_next`, which says what is taken."""
        frame = self._next()
        if frame is not None and self.limiter is not None:
            frame = self.limiter.process(frame)
        if frame is not None and self.on_taken is not None:
            self.on_taken(frame)
        if frame is not None:
            for listener in self.listeners:
                listener(frame)
        return frame

    def _next(self) -> NDArray[np.int16] | None:
        """The next 20 ms to send, shape (480,); None when there is nothing to say (send silence). A frame may join the end of one
        clause and the start of the next. It never waits for audio that is still being synthesised. It enters the ledger only with
        `confirm_sent`."""
        gain = self._gains.get(self._clauses[0].reply_id, 1.0) if self._clauses else 1.0
        parts: list[NDArray[np.int16]] = []
        taken: list[Position] = []
        need = PLAYED_FRAME_SAMPLES
        while need and self._clauses and self._clauses[0].reply_id not in self._paused:
            clause = self._clauses[0]
            before = need
            while need and clause.buffer:
                part = clause.buffer[0][:need]
                if len(part) == len(clause.buffer[0]):
                    clause.buffer.popleft()
                else:
                    clause.buffer[0] = clause.buffer[0][need:]
                parts.append(part)
                need -= len(part)
                clause.sent(part)
            if need < before or (clause.complete and not clause.buffer):
                taken.append(clause.position)
            if clause.buffer or not clause.complete:
                self.underruns += need > 0 and clause.sent_samples > 0
                break
            self._clauses.popleft()
            if self.on_halt is not None:
                self._unconfirmed.append(clause)
            else:
                self._keep(clause)
        self._queued_samples -= PLAYED_FRAME_SAMPLES - need
        self._taken = taken
        tail, self._tail = self._tail, None
        if not parts:
            return tail
        self.frames_sent += 1
        if need:
            parts.append(np.zeros(need, dtype=np.int16))
        frame = np.concatenate(parts) if len(parts) > 1 else parts[0]
        return self._ramped(self._faded_in(frame) if self._fade_in else frame, gain)

    def _ramped(self, frame: NDArray[np.int16], gain: float) -> NDArray[np.int16]:
        """The frame with its gain moved to the new one, which is reached at its end."""
        before, self._gain = self._gain, gain
        if before == gain == 1.0:
            return frame
        return (frame * np.linspace(before, gain, len(frame))).astype(np.int16)

    def _faded_in(self, frame: NDArray[np.int16]) -> NDArray[np.int16]:
        self._fade_in = False
        faded = frame.copy()
        faded[:FADE_SAMPLES] = faded[:FADE_SAMPLES] * np.linspace(0.0, 1.0, FADE_SAMPLES)
        return faded

    def attenuate(self, reply_id: int, gain_db: float) -> None:
        """Send the reply softer by so many dB from the next frame on, which moves from the old level to the new one. 0: its own
        level."""
        if gain_db:
            self._gains[reply_id] = 10 ** (gain_db / 20)
        else:
            self._gains.pop(reply_id, None)

    def pause(self, reply_id: int) -> None:
        """Send nothing of the reply until `resume`, except 5 ms in which it fades out. Audio pushed meanwhile queues up. May come
        before its first push."""
        if reply_id in self._cancelled or reply_id in self._paused:
            return
        first = self._clauses[0] if self._clauses and self.on_halt is None else None
        if first is not None and first.reply_id == reply_id and first.sent_samples and first.buffer:
            fading = first.buffer[0][:FADE_SAMPLES]
            self._tail = np.zeros(PLAYED_FRAME_SAMPLES, np.int16)
            self._tail[: len(fading)] = fading * np.linspace(self._gain, 0.0, len(fading))
        self._paused.add(reply_id)
        self._clauses = deque(clause for clause in self._clauses if clause.index != CUE)
        self._queued_samples = sum(len(part) for clause in self._clauses for part in clause.buffer)
        if self.on_halt is not None:
            self.on_halt(reply_id)

    def put_cue(self, reply_id: int, pcm: NDArray[np.int16]) -> None:
        """Send this audio once the paused reply goes on, before its rest. Another pause drops it."""
        cue = PlayoutClause(reply_id, CUE)
        cue.buffer.append(pcm)
        cue.complete = True
        self._clauses.appendleft(cue)
        self._queued_samples += len(pcm)

    def resume(self, reply_id: int, clause: int = -1, from_ms: float = 0.0) -> None:
        """Go on at the full level from the very sample at which the reply was paused. If `clause` is the one that was being sent,
        go on from `from_ms` of its audio where that is earlier. Audio that is sent again enters the ledger again, with its own
        position. A reply that was cut fades in over 5 ms, so that it does not click."""
        if reply_id not in self._paused:
            return
        self._paused.discard(reply_id)
        self._gains.pop(reply_id, None)
        cut = self._find(reply_id, clause)
        if cut is not None:
            self._queued_samples += cut.go_back(cut.sent_samples - round(from_ms * PLAYED_HZ / 1000))
        self._fade_in = any(clause.reply_id == reply_id and clause.sent_samples for clause in self._clauses) or cut is not None
        self._gain, self._tail = 1.0, None
        self._tell_ready()

    def end_clause(self, reply_id: int, clause: int, end_ms: float) -> None:
        """Send nothing of the clause beyond `end_ms` of its audio, and fade out over 5 ms. Audio pushed to it later is
        dropped."""
        cut = self._find(reply_id, clause)
        if cut is None:
            return
        keep = max(0, round(end_ms * PLAYED_HZ / 1000) - cut.sent_samples)
        audio = np.concatenate(cut.buffer) if cut.buffer else np.zeros(0, np.int16)
        kept = audio[:keep].copy()
        if len(kept) < len(audio):
            fade = min(FADE_SAMPLES, len(kept))
            kept[len(kept) - fade :] = kept[len(kept) - fade :] * np.linspace(1.0, 0.0, fade)
        self._queued_samples -= len(audio) - len(kept)
        cut.buffer = deque([kept] if len(kept) else [])
        cut.complete = cut.is_cut = True

    def break_off(self, reply_id: int, clause: int) -> None:
        """The rest of the clause will never come: end it where it was sent to, fading out, so that the clauses behind it are
        sent."""
        broken = self._find(reply_id, clause)
        if broken is not None:
            fade = FADE_SAMPLES if broken.sent_samples else 0
            self.end_clause(reply_id, clause, (broken.sent_samples + fade) * 1000.0 / PLAYED_HZ)
            self._tell_ready()

    def confirm_sent(self) -> None:
        """The frame that was taken last is on its way to the caller: enter it in the ledger and report it."""
        self.confirm(self.taken())

    def taken(self) -> list[Position]:
        """The content of the frame taken last. Pass it to `confirm`, instead of `confirm_sent`, once the frame was played."""
        taken, self._taken = self._taken, []
        return taken

    def confirm(self, positions: Iterable[Position]) -> None:
        """These were played to the caller, and all that was taken before them: enter them in the ledger and report them."""
        for position in positions:
            self._forget_confirmed(position)
            if position[0] in self._cancelled or position[1] == CUE:
                continue
            self._last.pop(position[0], None)
            self._last[position[0]] = position
            while len(self._last) > MAX_REMEMBERED:
                del self._last[next(iter(self._last))]
            if self.on_sent is not None:
                self.on_sent(position)

    def _forget_confirmed(self, position: Position) -> None:
        """Nothing before it can be taken back any more."""
        while self._unconfirmed:
            first = self._unconfirmed[0]
            if (first.reply_id, first.index) == position[:2] and position < first.position:
                return
            self._keep(self._unconfirmed.popleft())
            if (first.reply_id, first.index) == position[:2]:
                return

    def _keep(self, clause: PlayoutClause) -> None:
        if clause.index != CUE:
            self._past.append(clause)
        while len(self._past) > 1 and sum(past.recent_samples for past in self._past) > MAX_REWIND_SAMPLES:
            self._past.popleft()

    def rewind(self, position: Position) -> Position:
        """Have what was sent beyond this position sent again: the caller did not hear it. Returns the position from which on that
        is so, as far as the audio is kept."""
        reply_id, index, played_ms = position
        gone = [clause for clause in self._past if (clause.reply_id, clause.index) >= (reply_id, index)]
        self._past = deque(clause for clause in self._past if clause not in gone)
        self._clauses.extendleft(reversed(gone))
        for clause in self._clauses:
            if (clause.reply_id, clause.index) >= (reply_id, index):
                played = round(played_ms * PLAYED_HZ / 1000) if (clause.reply_id, clause.index) == (reply_id, index) else 0
                back = clause.go_back(clause.sent_samples - played)
                self._queued_samples += back
                self._fade_in = self._fade_in or back > 0
        self._last = {one: last for one, last in self._last.items() if last <= position}
        first = next((clause for clause in self._clauses if clause.reply_id >= reply_id), None)
        reached = position if first is None else max(position, first.position)
        self._last[reached[0]] = reached
        return reached

    def recall(self) -> None:
        """Have what was taken and not confirmed sent again: the leg's peer dropped it. The next frame fades in."""
        if self.on_recalled is not None:
            self.on_recalled()
        self._taken = []
        gone, self._unconfirmed = self._unconfirmed, deque()
        kept = (clause for clause in reversed(gone) if clause.reply_id not in self._cancelled and clause.index != CUE)
        self._clauses.extendleft(kept)
        for clause in self._clauses:
            _, index, played_ms = self._last.get(clause.reply_id, (clause.reply_id, -1, 0.0))
            played = round(played_ms * PLAYED_HZ / 1000) if index == clause.index else 0
            back = clause.go_back(clause.sent_samples - played)
            self._queued_samples += back
            self._fade_in = self._fade_in or back > 0
        self._tell_ready()

    def next_frame(self) -> NDArray[np.int16] | None:
        """`take_frame` and `confirm_sent` in one, for a leg that sends frames the moment it takes them."""
        frame = self.take_frame()
        self.confirm_sent()
        return frame

    def cancel(self, reply_id: int) -> Position:
        """Send nothing more of the reply. Returns what was sent of it, including a frame just taken. Clause is -1 when nothing
        was sent."""
        self._cancelled[reply_id] = None
        self._paused.discard(reply_id)
        if self._gains.pop(reply_id, None) is not None:
            self._gain = 1.0
        while len(self._cancelled) > MAX_REMEMBERED:
            del self._cancelled[next(iter(self._cancelled))]
        self._clauses = deque(clause for clause in self._clauses if clause.reply_id != reply_id)
        self._past.clear()
        self._queued_samples = sum(len(part) for clause in self._clauses for part in clause.buffer)
        self._tell_ready()
        last = self._last.pop(reply_id, (reply_id, -1, 0.0))
        if self.on_halt is not None:
            self.on_halt(reply_id)
            return last
        return next((position for position in reversed(self._taken) if position[0] == reply_id), last)

    def finish(self, reply_id: int) -> None:
        """Forget the ledger of a reply that was sent completely."""
        self._paused.discard(reply_id)
        self._gains.pop(reply_id, None)
        self._last.pop(reply_id, None)
        self._past.clear()
