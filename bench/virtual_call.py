"""A call without a network, at the pace of the machine: the caller's audio goes through Opus, the VAD, Whisper and the turn
engine of a real call while the agent speaks one long reply. Time is counted in frames of audio; a decode takes none of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio import opus
from voiceagent.audio.resample import resample
from voiceagent.call.clock import CallClock
from voiceagent.call.hearing import Hearing
from voiceagent.call.rules import rules_of
from voiceagent.call.tasks import CallTasks
from voiceagent.config import AgentConfig, Phrases
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation import machine
from voiceagent.guard.checks import load_guards
from voiceagent.media.leg import HeardFrame
from voiceagent.stt.engine import SttEngine
from voiceagent.tools.toolset import ToolSet

RATE_HZ = 16_000
FRAME_MS = 20
FRAME_SAMPLES = RATE_HZ * FRAME_MS // 1000
OPUS_RATE_HZ = 24_000
WORD_MS = 300.0
REPLY = (
    "I have found three restaurants near the station that still have a free table on Friday evening at seven. "
    "The first one is Italian and has a quiet garden, the second one serves fish from the harbour, "
    "and the third one is a small place with only ten seats that opened last summer."
)

Pcm = NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class Overlap:
    """What became of a sound over the agent's speech."""

    yielded: bool
    decided_ms: float | None
    """From the sound's onset to the drop, or to the reply going on; None when the agent was never held."""
    held_ms: float | None
    """From the sound's onset to the agent's silence; None when it was never silent."""
    words: str
    """What was understood of it at last."""
    voiced_ms: float
    """How much speech the VAD found in it before its last pause."""


class _Clock(CallClock):
    """Moved by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.time_ms = 0.0

    def now_ms(self) -> float:
        return self.time_ms

    def at_ms(self, monotonic_ms: float) -> float:
        return monotonic_ms


class _Tasks(CallTasks):
    """Whose tasks can be waited for."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        super().__init__(group)
        self._running: set[asyncio.Task[None]] = set()

    def start(self, owner: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = super().start(owner, work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def idle(self) -> None:
        """Wait until nothing runs."""
        while self._running:
            await asyncio.wait(self._running)


class VirtualCall:
    """One call; `overlap` plays a sound into the agent's reply."""

    def __init__(self, engine: SttEngine, *, reply: str = REPLY, follow: Callable[[str], None] = lambda line: None) -> None:
        """`follow` is told every event and action, a line each."""
        self._engine = engine
        self._agent = AgentConfig(phrases=Phrases(greeting=reply))
        self._checks = load_guards(self._agent.guard).input
        self._follow = follow
        self._clock = _Clock()
        self._state = machine.start(rules_of(self._agent, ToolSet()))
        self._clauses: list[tuple[int, int, float]] = []
        self._played_ms = 0.0
        self._held = False
        self._timers: dict[str, float] = {}
        self._marks: dict[str, float] = {}
        self._words = ""
        self._voiced_ms = 0.0
        self._hearing: Hearing

    async def overlap(self, sound: Pcm, *, before_ms: float = 1000.0, after_ms: float = 3000.0) -> Overlap:
        """Let the agent speak for `before_ms`, then play the sound (mono 16 kHz), then `after_ms` of silence."""
        heard = through_opus(np.concatenate([_silence(before_ms), sound, _silence(after_ms)]))
        async with asyncio.TaskGroup() as group:
            tasks = _Tasks(group)
            self._hearing = Hearing(self._engine, self._agent.turn, self._clock, tasks, self._post, self._checks)
            self._post(ev.CallStarted(0.0))
            await self._hearing.run(self._frames(heard, tasks))
            tasks.cancel_all()
        held_ms, dropped_ms, released_ms = (self._marks.get(name) for name in ("held", "dropped", "released"))
        decided_ms = released_ms if dropped_ms is None else dropped_ms
        return Overlap(
            dropped_ms is not None,
            None if decided_ms is None else decided_ms - before_ms,
            None if held_ms is None else held_ms - before_ms,
            self._words,
            self._voiced_ms,
        )

    async def _frames(self, heard: Pcm, tasks: _Tasks) -> AsyncIterator[HeardFrame]:
        for start in range(0, len(heard) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
            self._clock.time_ms += FRAME_MS
            yield HeardFrame(heard[start : start + FRAME_SAMPLES], self._clock.time_ms, False)
            await tasks.idle()
            self._play()
            for name in [name for name, due_ms in self._timers.items() if due_ms <= self._clock.time_ms]:
                del self._timers[name]
                self._post(ev.TimerFired(self._clock.time_ms, name))

    def _play(self) -> None:
        """The agent's next frame."""
        if self._held or not self._clauses:
            return
        reply_id, clause, duration_ms = self._clauses[0]
        self._played_ms = min(duration_ms, self._played_ms + FRAME_MS)
        played_ms = self._played_ms
        if played_ms >= duration_ms:
            self._clauses.pop(0)
            self._played_ms = 0.0
        self._post(ev.Played(self._clock.time_ms, reply_id, clause, played_ms))

    def _post(self, event: ev.Event) -> None:
        if not isinstance(event, ev.Played | ev.ClauseAudio):
            self._follow(f"{self._clock.time_ms:6.0f}  {event}")
        if isinstance(event, ev.FinalTranscript):
            self._words = event.text
        elif isinstance(event, ev.SpeechPaused):
            self._voiced_ms = event.voiced_ms
        self._state, actions = machine.step(self._state, event)
        for action in actions:
            self._carry_out(action)

    def _carry_out(self, action: act.Action) -> None:
        now_ms = self._clock.time_ms
        match action:
            case act.Speak(reply_id, clause, text):
                words = tuple(ev.SpokenWord(word, i * WORD_MS, (i + 1) * WORD_MS) for i, word in enumerate(text.split()))
                self._clauses.append((reply_id, clause, len(words) * WORD_MS))
                self._post(ev.ClauseAudio(now_ms, reply_id, clause, len(words) * WORD_MS, words))
            case act.Hold():
                self._mark("held")
                self._held = True
            case act.Release():
                self._mark("released")
                self._held = False
            case act.Drop(reply_id):
                self._mark("dropped")
                self._held = False
                self._clauses.clear()
                self._post(ev.PlayoutStopped(now_ms, reply_id, -1, 0.0))
            case act.SetTimer(name, due_ms):
                self._timers[name] = due_ms
            case act.ClearTimer(name):
                self._timers.pop(name, None)
            case act.Transcribe(utterance_id):
                self._hearing.transcribe(utterance_id)
            case act.SetHolds():
                self._hearing.set_holds(action)
            case act.Discard(utterance_id):
                self._hearing.discard(utterance_id)

    def _mark(self, name: str) -> None:
        self._marks.setdefault(name, self._clock.time_ms)
        self._follow(f"{self._clock.time_ms:6.0f}  → {name}")


def through_opus(pcm: Pcm) -> Pcm:
    """The audio as the server hears it: coded as the caller's side does, decoded as ours does; mono 16 kHz, shape (samples,)."""
    encoder, decoder = opus.Encoder(OPUS_RATE_HZ), opus.Decoder(RATE_HZ)
    wide = resample(pcm, RATE_HZ, OPUS_RATE_HZ)
    size = OPUS_RATE_HZ * FRAME_MS // 1000
    frames = [decoder.decode(encoder.encode(wide[at : at + size])) for at in range(0, len(wide) - size + 1, size)]
    return np.concatenate(frames)


def _silence(duration_ms: float) -> Pcm:
    return np.zeros(int(duration_ms * RATE_HZ / 1000), np.int16)
