"""A call in virtual time whose agent hears itself: each frame that the turn engine lets the leg play goes through a line with an
echo, comes back with the caller's voice, and passes the leg's cleaner, the VAD, Whisper and the turn engine. When the agent falls
silent, so does its echo."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import numpy as np

from bench.echo_path import FRAME_SAMPLES, SENT_HZ, Echo, Line
from bench.virtual_call import FRAME_MS, WORD_MS, Overlap, Pcm, SpokenOver
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.media.audio_cleaner import AudioCleaner, AudioCleaning
from voiceagent.media.leg import InboundFrame
from voiceagent.simulation.virtual_call import VirtualClause
from voiceagent.stt.engine import SttEngine

SENT_SAMPLES = SENT_HZ // 50
AFTER_MS = 2500.0
"""A call goes on for so long once the reply was given up."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of the agent."""

    text: str
    clauses: Mapping[str, Pcm]
    """The sound of each clause, mono 24 kHz."""

    @property
    def duration_ms(self) -> float:
        """The length of its audio."""
        return sum(map(len, self.clauses.values())) * 1000 / SENT_HZ


def clauses_of(engine: SttEngine, text: str) -> list[str]:
    """The pieces in which the turn engine has a reply spoken."""
    call = _Read(engine, reply=text)
    call.feed(ev.CallStarted(0.0))
    return call.read


class _Read(SpokenOver):
    """Notes what is to be spoken."""

    def __init__(self, engine: SttEngine, *, reply: str) -> None:
        super().__init__(engine, reply=reply)
        self.read: list[str] = []

    def asked(self, action: act.AnyAction) -> None:
        """See `VirtualCall.asked`."""
        if isinstance(action, act.Speak):
            self.read.append(action.text)


class EchoedCall(SpokenOver):
    """One call."""

    def __init__(self, engine: SttEngine, reply: Reply, echo: Echo, cleaning: AudioCleaning) -> None:
        super().__init__(engine, reply=reply.text)
        self._clauses = reply.clauses
        self._line = Line(echo)
        self._late_ms = echo.jitter_ms
        self._rng = np.random.default_rng(echo.seed)
        self._cleaner = AudioCleaner(cleaning)
        self._spoken: dict[tuple[int, int], Pcm] = {}
        self._sends: Pcm = np.zeros(SENT_SAMPLES, np.int16)

    async def spoken_over(self, caller: Pcm) -> Overlap:
        """The caller's side from the beginning of the reply, mono 16 kHz; times count from there."""
        try:
            return await self.overlap_coded(caller, 0.0, before_ms=0.0)
        finally:
            self._cleaner.close()

    async def heard_frames(self, heard: Pcm) -> AsyncIterator[InboundFrame]:
        """See `SpokenOver.heard_frames`."""
        for start in range(0, len(heard) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
            came = self._line.hear(heard[start : start + FRAME_SAMPLES])
            self.now_ms += FRAME_MS
            received_ms = self.now_ms + self._rng.exponential(self._late_ms)
            yield InboundFrame(came, self.now_ms, False, self._cleaner.clean(came, received_ms))
            if self._dropped_ms is not None and self.now_ms > self._dropped_ms + AFTER_MS:
                return

    def frame(self) -> None:
        """See `VirtualCall.frame`."""
        self._sends = np.zeros(SENT_SAMPLES, np.int16)
        super().frame()
        self._line.say(self._sends)

    def asked(self, action: act.AnyAction) -> None:
        """See `VirtualCall.asked`."""
        if not isinstance(action, act.Speak):
            super().asked(action)
            return
        words = action.text.split()
        silence = np.zeros(int(len(words) * WORD_MS * SENT_HZ / 1000), np.int16)  # for what the agent asks after a silence
        pcm = self._spoken[action.reply_id, action.clause] = self._clauses.get(action.text, silence)
        duration_ms = len(pcm) * 1000 / SENT_HZ
        each_ms = duration_ms / len(words)
        spoken = tuple(ev.SpokenWord(word, at * each_ms, (at + 1) * each_ms) for at, word in enumerate(words))
        self.synthesised(action.reply_id, action.clause, spoken, duration_ms)

    def sent(self, clause: VirtualClause) -> None:
        """See `VirtualCall.sent`."""
        super().sent(clause)
        end = round(clause.sent_ms * SENT_HZ / 1000)
        part = self._spoken[clause.reply_id, clause.clause][max(0, end - SENT_SAMPLES) : end]
        self._sends = np.pad((part * self._level).astype(np.int16), (0, SENT_SAMPLES - len(part)))
        self._cleaner.played(self._sends, self.now_ms)
