"""The agent's voice in a call: takes clauses and puts audio into the leg's playout queue. One task per reply synthesises its
clauses in order. It waits while the queue is full."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import PLAYED_HZ
from voiceagent.audio.levels import first_audible_sample
from voiceagent.audio.resample import StreamResampler, TimeStretcher
from voiceagent.call.scope import CallScope
from voiceagent.call.thinking import owner
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.errors import EngineError
from voiceagent.media.playout import Playout, Position
from voiceagent.tts.engine import SpeechChunk, TtsEngine

log = logging.getLogger(__name__)

FAILED = "The voice failed; the server's log says why."
"""The message for the client."""
SILENCE = np.zeros(0, np.int16)
MAX_TRIMMED_MS = 200.0
"""Voices begin with up to this much silence. Before a reply it would only make the caller wait."""
KEPT_MS = 5.0
"""Silence that is kept before a reply, for a soft first sound."""


LEDGER_FRAMES = 1500
"""The last 30 s."""


class _Prepared:
    """A clause that is synthesised before it is known whether it may be spoken."""

    def __init__(self, reply_id: int, text: str, engine: TtsEngine) -> None:
        self.clause = (reply_id, text)
        self.rate_hz = engine.sample_rate_hz
        self._synthesised = engine.synthesise(text)
        self._chunks: asyncio.Queue[SpeechChunk | Exception | None] = asyncio.Queue()

    async def synthesise(self) -> None:
        """Keep the clause's chunks: it is short."""
        end = None
        try:
            async with aclosing(self._synthesised) as chunks:
                async for chunk in chunks:
                    self._chunks.put_nowait(chunk)
        except Exception as error:  # noqa: BLE001 - whoever speaks the clause raises it
            end = error
        self._chunks.put_nowait(end)

    async def chunks(self) -> AsyncGenerator[SpeechChunk, None]:
        """The chunks, as `TtsEngine.synthesise` gives them."""
        while (found := await self._chunks.get()) is not None:
            if isinstance(found, Exception):
                raise found
            yield found


class Speaking:
    """One per call."""

    def __init__(self, scope: CallScope, engine: TtsEngine, playout: Playout) -> None:
        self.speed = 1.0
        """The speed of the clauses that are synthesised from now on."""
        self._engine = engine
        self._playout = playout
        self._clock = scope.clock
        self._tasks = scope.tasks
        self._post = scope.post
        self._engine_used = scope.engine_used
        self._reply_id = -1
        self._waiting: deque[act.Speak] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._ledger: deque[tuple[float, Position]] = deque(maxlen=LEDGER_FRAMES)
        """The positions that were sent, with the times on the call's clock."""
        self._cue: asyncio.Task[None] | None = None
        self._prepared: tuple[_Prepared, asyncio.Task[None]] | None = None
        self._left = asyncio.Event()
        """Set when audio has left the queue."""
        playout.on_sent = self._sent

    def _sent(self, position: Position) -> None:
        self._left.set()
        now_ms = self._clock.now_ms()
        self._ledger.append((now_ms, position))
        self._post(ev.Played(now_ms, *position))

    def sent_until(self, at_ms: float) -> Position | None:
        """The position of what was sent until then; None if nothing was sent since."""
        if not self._ledger or self._ledger[-1][0] <= at_ms:
            return None
        before = [position for sent_ms, position in self._ledger if sent_ms <= at_ms]
        return before[-1] if before else (self._ledger[0][1][0], 0, 0.0)

    def take_back(self, position: Position | None) -> ev.HeardUntil | None:
        """The caller heard nothing beyond this position, although it was sent: have it sent again. Returns what was heard. None:
        all of it."""
        if position is None or not self._ledger or self._ledger[-1][1] <= position:
            return None
        while self._ledger and self._ledger[-1][1] > position:
            self._ledger.pop()
        return ev.HeardUntil(*self._playout.rewind(position))

    def prepare(self, reply_id: int, text: str) -> None:
        """Begin to synthesise a clause of the reply. It is dropped unless it is the next that is spoken."""
        self._take_prepared(-1, "")
        prepared = _Prepared(reply_id, text, self._engine)
        self._prepared = prepared, self._tasks.start(owner(reply_id), prepared.synthesise())

    def _take_prepared(self, reply_id: int, text: str) -> _Prepared | None:
        if self._prepared is None:
            return None
        (prepared, task), self._prepared = self._prepared, None
        if prepared.clause == (reply_id, text) and not task.cancelled():
            return prepared
        task.cancel()
        return None

    def speak(self, action: act.Speak) -> None:
        """Synthesise a clause after the reply's earlier ones."""
        if action.reply_id != self._reply_id:
            self._reply_id = action.reply_id
            self._waiting = deque()
            self._worker = None
        self._waiting.append(action)
        if self._worker is None or self._worker.done():
            self._worker = self._tasks.start(owner(action.reply_id), self._work(self._waiting))

    def pause(self, reply_id: int) -> None:
        """Send nothing of the reply for now, nor a cue before it."""
        if self._cue is not None:
            self._cue.cancel()
        self._playout.pause(reply_id)

    def resume(self, action: act.ResumeReply) -> None:
        """Go on with the reply, after its cue if it has one."""
        if action.cue:
            self._cue = self._tasks.start(owner(action.reply_id), self._resume_after_cue(action))
        else:
            self._playout.resume(action.reply_id, action.clause, action.from_ms)

    async def _resume_after_cue(self, action: act.ResumeReply) -> None:
        resampler = StreamResampler(self._engine.sample_rate_hz, PLAYED_HZ)
        try:
            async with aclosing(self._engine.synthesise(action.cue)) as chunks:
                parts = [resampler.process(chunk.pcm) async for chunk in chunks]
            self._playout.put_cue(action.reply_id, np.concatenate([*parts, resampler.process(SILENCE, last=True)]))
        except EngineError as error:
            self._engine_used("tts", error.kind)
            log.warning("the cue of reply %d failed: %s", action.reply_id, error)
        self._playout.resume(action.reply_id, action.clause, action.from_ms)

    def end_clause(self, action: act.EndClauseAt) -> None:
        """Send nothing of the clause after the end of a word."""
        self._playout.end_clause(action.reply_id, action.clause, action.end_ms)
        self._left.set()

    def cancel(self, reply_id: int) -> None:
        """Send no more of the reply, and report how much was sent."""
        _, clause, played_ms = self._playout.cancel(reply_id)
        self._left.set()
        self._post(ev.PlayoutStopped(self._clock.now_ms(), reply_id, clause, played_ms))

    async def _work(self, waiting: deque[act.Speak]) -> None:
        while waiting:
            action = waiting.popleft()
            try:
                await self._synthesise(action)
                self._engine_used("tts", "")
            except EngineError as error:
                self._engine_used("tts", error.kind)
                self._playout.break_off(action.reply_id, action.clause)
                log.warning("clause %d of reply %d failed: %s", action.clause, action.reply_id, error)
                self._post(ev.ClauseFailed(self._clock.now_ms(), action.reply_id, action.clause, FAILED))

    async def _synthesise(self, action: act.Speak) -> None:
        prepared = self._take_prepared(action.reply_id, action.text)
        rate_hz = self._engine.sample_rate_hz if prepared is None else prepared.rate_hz
        resampler, stretcher = StreamResampler(rate_hz, PLAYED_HZ), TimeStretcher(PLAYED_HZ, self.speed)
        spoken = _Spoken(rate_hz, MAX_TRIMMED_MS if action.clause == 0 else 0.0, self.speed)
        await self._room()
        synthesised = self._engine.synthesise(action.text) if prepared is None else prepared.chunks()
        async with aclosing(synthesised) as chunks:
            async for chunk in chunks:
                spoken.words.extend(chunk.words)
                pcm = stretcher.process(resampler.process(spoken.trimmed(chunk.pcm)))
                self._put(action, pcm, spoken, complete=False)
                await self._room()
        pcm = stretcher.process(resampler.process(spoken.held_back(), last=True), last=True)
        self._put(action, pcm, spoken, complete=True)

    def _put(self, action: act.Speak, pcm: NDArray[np.int16], spoken: _Spoken, *, complete: bool) -> None:
        spoken.samples += len(pcm)
        duration_ms = spoken.samples * 1000.0 / PLAYED_HZ
        now_ms = self._clock.now_ms()
        self._post(ev.ClauseAudio(now_ms, action.reply_id, action.clause, duration_ms, spoken.heard_words(), complete))
        self._playout.push(action.reply_id, action.clause, pcm, complete=complete)

    async def _room(self) -> None:
        """Wait while the queue is full."""
        while self._playout.full:
            self._left.clear()
            await self._left.wait()


class _Spoken:
    """The part of a clause that was synthesised so far, without the silence before it."""

    def __init__(self, rate_hz: int, silence_ms: float, speed: float) -> None:
        """At most `silence_ms` of the engine's audio, at `rate_hz`, is left out."""
        self._speed = speed
        self.samples = 0
        """At the playout's rate."""
        self.words: list[ev.SpokenWord] = []
        """With the engine's own times."""
        self._rate_hz = rate_hz
        self._silence_left = int(silence_ms * rate_hz / 1000)
        self._kept = SILENCE
        self._left_out_ms = 0.0

    def trimmed(self, pcm: NDArray[np.int16]) -> NDArray[np.int16]:
        """The part of the clause's next audio that is to be sent."""
        if not self._silence_left:
            return pcm
        pcm = np.concatenate((self._kept, pcm))
        audible = first_audible_sample(pcm, self._rate_hz)
        cut = min(self._silence_left, max(0, audible - int(KEPT_MS * self._rate_hz / 1000)))
        self._left_out_ms += cut * 1000.0 / self._rate_hz
        self._silence_left -= cut
        if audible == len(pcm) and self._silence_left:
            self._kept = pcm[cut:]
            return SILENCE
        self._silence_left = 0
        return pcm[cut:]

    def held_back(self) -> NDArray[np.int16]:
        """At the end of the clause, the audio that was kept because no sound had come yet. It is dropped if the clause was
        silent."""
        kept, self._kept = self._kept, SILENCE
        return kept if self._silence_left else SILENCE

    def heard_words(self) -> tuple[ev.SpokenWord, ...]:
        """The words, with times in the audio that is sent."""
        left_out_ms = self._left_out_ms
        return tuple(
            ev.SpokenWord(
                word.text,
                max(0.0, word.start_ms - left_out_ms) / self._speed,
                max(0.0, word.end_ms - left_out_ms) / self._speed,
            )
            for word in self.words
        )
