"""A call without a network, at the pace of the machine: the caller's audio goes through Opus, the VAD, Whisper and the turn
engine of a real call while the agent speaks one long reply. Time is counted in frames of audio; what a decode takes of it is
given."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import msgspec.structs
import numpy as np
from msgspec.structs import replace as changed
from numpy.typing import NDArray

from voiceagent.audio import opus
from voiceagent.audio.resample import resample
from voiceagent.call.hearing import Hearing
from voiceagent.call.rules import rules_of
from voiceagent.call.scope import CallClock, CallScope, CallTasks
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.guard.checks import load_guards
from voiceagent.media.leg import InboundFrame
from voiceagent.settings.agent import AgentConfig, PhraseSettings
from voiceagent.simulation.virtual_call import VirtualCall, VirtualClause
from voiceagent.stt.engine import SttEngine
from voiceagent.stt.hypothesis import Hypothesis
from voiceagent.tools.toolset import ToolSet
from voiceagent.turn_taking.overlap import Manners

RATE_HZ = 16_000
FRAME_MS = 20
FRAME_SAMPLES = RATE_HZ * FRAME_MS // 1000
OPUS_RATE_HZ = 24_000
WORD_MS = 300.0
DECODE_MS = 60.0
"""The time that the bundled Whisper takes for a second of speech on a core of its own, and a frame until it begins."""
REPLY = (
    "I have found three restaurants near the station that still have a free table on Friday evening at seven. "
    "The first one is Italian and has a quiet garden, the second one serves fish from the harbour, "
    "and the third one is a small place with only ten seats that opened last summer."
)

Pcm = NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class Overlap:
    """The outcome of a sound over the agent's speech. Times in ms from the sound's onset."""

    yielded: bool
    dropped_ms: float | None
    """Until the reply was given up; None when it was not."""
    levels: tuple[float, ...]
    """Levels of the agent's voice, a frame each: 1, less when it speaks softly, 0 when it is silent."""
    sound_ms: float
    """The length of the sound."""
    words: str
    """The words that were understood of it at last."""
    voiced_ms: float
    """Length of the speech that the VAD found in it before its last pause."""

    @property
    def stopped_ms(self) -> float:
        """Until the last frame in which anything of the reply was heard, if it was given up."""
        return FRAME_MS * float(max((at + 1 for at, level in enumerate(self._of_reply) if level), default=0))

    @property
    def _of_reply(self) -> tuple[float, ...]:
        """The levels until the reply was given up. What is said after that belongs to the next one."""
        return self.levels if self.dropped_ms is None else self.levels[: int(self.dropped_ms / FRAME_MS)]

    @property
    def softer_ms(self) -> float | None:
        """Until the reply was not at its full level for the first time."""
        return next((FRAME_MS * float(at) for at, level in enumerate(self.levels) if level < 1), None)

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """Silences after which the reply went on: the first frame of each and the one after its end."""
        edges = np.flatnonzero(np.diff([1, *(level > 0 for level in self._of_reply)]))
        return [(int(start), int(end)) for start, end in zip(edges[::2], edges[1::2], strict=False)]

    @property
    def gap_ms(self) -> float:
        """The longest of them."""
        return FRAME_MS * float(max((end - start for start, end in self.gaps), default=0))

    @property
    def back_after_ms(self) -> float | None:
        """From the end of the sound until the reply went on after its last silence; None where it was never silent."""
        return FRAME_MS * self.gaps[-1][1] - self.sound_ms if self.gaps else None


class Remembered:
    """A recogniser that decodes the same audio once."""

    def __init__(self, engine: SttEngine) -> None:
        self.stream, self.max_audio_s, self.dropped_partials = engine.stream, engine.max_audio_s, 0
        self.known: dict[tuple[bytes, str, bool, str], Hypothesis] = {}
        self._engine = engine

    async def transcribe(
        self,
        audio: NDArray[np.float32],
        *,
        prompt: str = "",
        word_times: bool = False,
        language: str = "",
        **_: Any,
    ) -> Hypothesis:
        """See `SttEngine.transcribe`."""
        key = (sha256(audio.tobytes()).digest(), prompt, word_times, language)
        if key not in self.known:
            self.known[key] = await self._engine.transcribe(audio, prompt=prompt, word_times=word_times, language=language)
        return self.known[key]

    async def close(self) -> None:
        """Free the model and its threads."""
        await self._engine.close()


class _Clock(CallClock):
    """The virtual call's."""

    def __init__(self, call: VirtualCall) -> None:
        super().__init__()
        self._call = call

    def now_ms(self) -> float:
        return self._call.now_ms

    def at_ms(self, monotonic_ms: float) -> float:
        return monotonic_ms


class _Tasks(CallTasks):
    """Tasks of a call that can be waited for."""

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


class SpokenOver(VirtualCall):
    """One call; `overlap` plays a sound into the agent's reply."""

    def __init__(self, engine: SttEngine, manners: Manners | None = None, *, reply: str = REPLY) -> None:
        """`manners`: the agent's, where they are not the default."""
        self._engine = engine
        self._agent = AgentConfig(phrases=PhraseSettings(greeting=reply))
        rules = rules_of(self._agent, ToolSet())
        super().__init__(rules if manners is None else msgspec.structs.replace(rules, manners=manners))
        self._checks = load_guards(self._agent.guard).input
        self._level = 1.0
        self._levels: list[float] = []
        self._decoded: deque[tuple[float, ev.Event]] = deque()
        """Words, and when they are known."""
        self._dropped_ms: float | None = None
        self._words = ""
        self._voiced_ms = 0.0
        self._hearing: Hearing

    async def overlap(self, sound: Pcm, *, before_ms: float = 1000.0, after_ms: float = 3000.0) -> Overlap:
        """Let the agent speak for `before_ms`, then play the sound (mono 16 kHz), then `after_ms` of silence."""
        return await self.overlap_coded(over_speech(sound, before_ms, after_ms), len(sound) * 1000 / RATE_HZ, before_ms)

    async def overlap_coded(self, heard: Pcm, sound_ms: float, before_ms: float = 1000.0) -> Overlap:
        """The same with what `over_speech` made of the sound."""
        async with asyncio.TaskGroup() as group:
            tasks = _Tasks(group)
            scope = CallScope("call", _Clock(self), tasks, self._post)
            self._hearing = Hearing(scope, self._engine, self._agent.turn, self._checks)
            self.feed(ev.CallStarted(0.0))
            await self._hearing.run(self._frames(heard, tasks))
            tasks.cancel_all()
        dropped_ms = None if self._dropped_ms is None else self._dropped_ms - before_ms
        levels = tuple(self._levels[int(before_ms / FRAME_MS) :])
        return Overlap(dropped_ms is not None, dropped_ms, levels, sound_ms, self._words, self._voiced_ms)

    async def _frames(self, heard: Pcm, tasks: _Tasks) -> AsyncIterator[InboundFrame]:
        async for frame in self.heard_frames(heard):
            yield frame
            await tasks.idle()
            while self._decoded and self._decoded[0][0] <= self.now_ms:
                self.feed(changed(self._decoded.popleft()[1], at_ms=self.now_ms))
            self._levels.append(0.0)
            self.frame()
            for name in [name for name, due_ms in self.timers.items() if due_ms <= self.now_ms]:
                self.fire(name)

    async def heard_frames(self, heard: Pcm) -> AsyncIterator[InboundFrame]:
        """The caller's audio frame by frame, each at its time."""
        for start in range(0, len(heard) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
            self.now_ms += FRAME_MS
            yield InboundFrame(heard[start : start + FRAME_SAMPLES], self.now_ms, False)

    def _post(self, event: ev.Event) -> None:
        if isinstance(event, ev.Transcript | ev.FinalTranscript):
            self._decoded.append((event.at_ms + DECODE_MS, event))
        else:
            self.feed(event)

    def feed(self, event: ev.Event) -> tuple[act.AnyAction, ...]:
        """See `VirtualCall.feed`."""
        if isinstance(event, ev.FinalTranscript):
            self._words = event.text
        elif isinstance(event, ev.SpeechPaused):
            self._voiced_ms = event.voiced_ms
        return super().feed(event)

    def asked(self, action: act.AnyAction) -> None:
        """See `VirtualCall.asked`."""
        match action:
            case act.Speak(reply_id, clause, text):
                words = tuple(ev.SpokenWord(word, i * WORD_MS, (i + 1) * WORD_MS) for i, word in enumerate(text.split()))
                self.synthesised(reply_id, clause, words, len(words) * WORD_MS)
            case act.Attenuate(_, gain_db):
                self._level = 10 ** (gain_db / 20)
            case act.Transcribe(utterance_id):
                self._hearing.transcribe(utterance_id)
            case act.ExpectValue(utterance_id, value):
                self._hearing.expect(utterance_id, value)
            case act.SetEndpointing():
                self._hearing.set_endpointing(action)
            case act.Attend(utterance_id):
                self._hearing.attend(utterance_id)
            case act.DiscardUtterance(utterance_id):
                self._hearing.discard(utterance_id)

    def sent(self, clause: VirtualClause) -> None:
        """See `VirtualCall.sent`."""
        self._levels[-1] = self._level

    def resumed(self, action: act.ResumeReply) -> None:
        """See `VirtualCall.resumed`."""
        self._level = 1.0

    def cancelled(self, reply_id: int) -> None:
        """See `VirtualCall.cancelled`."""
        self._level = 1.0
        self._dropped_ms = self.now_ms if self._dropped_ms is None else self._dropped_ms


def over_speech(sound: Pcm, before_ms: float = 1000.0, after_ms: float = 3000.0) -> Pcm:
    """The caller's audio as the server hears it: a silence, the sound, a silence."""
    return through_opus(np.concatenate([_silence(before_ms), sound, _silence(after_ms)]))


def through_opus(pcm: Pcm) -> Pcm:
    """The audio as the server hears it: coded as the caller's side does, decoded as ours does; mono 16 kHz, shape (samples,)."""
    encoder, decoder = opus.Encoder(OPUS_RATE_HZ), opus.Decoder(RATE_HZ)
    wide = resample(pcm, RATE_HZ, OPUS_RATE_HZ)
    size = OPUS_RATE_HZ * FRAME_MS // 1000
    frames = [decoder.decode(encoder.encode(wide[at : at + size])) for at in range(0, len(wide) - size + 1, size)]
    return np.concatenate(frames)


def _silence(duration_ms: float) -> Pcm:
    return np.zeros(int(duration_ms * RATE_HZ / 1000), np.int16)
