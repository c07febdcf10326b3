"""The agent's ear: the caller's frames in; onsets, partial transcripts and endpoints out, as events of the turn engine.
Silence reaches the VAD and nothing behind it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable

from voiceagent.call.clock import CallClock
from voiceagent.call.tasks import CallTasks
from voiceagent.config import TurnSettings
from voiceagent.conversation import events as ev
from voiceagent.errors import EngineError
from voiceagent.media.leg import HeardFrame
from voiceagent.stt.engine import SttEngine
from voiceagent.stt.stream import UtteranceTranscriber
from voiceagent.vad.detector import SpeechDetector, SpeechOnset, SpeechProgress
from voiceagent.vad.endpointer import Endpointer, SilenceEndpointer

FRAME_MS = 20.0
PARTIAL_PAUSE_MS = 300.0
"""After this much silence no further partial is decoded: the words are all there."""
OWNER = "hearing"


class Hearing:
    """One per call. `run` consumes the leg's frames; `final` answers the turn engine's `Transcribe`."""

    def __init__(
        self, engine: SttEngine, settings: TurnSettings, clock: CallClock, tasks: CallTasks, post: Callable[[ev.Event], None]
    ) -> None:
        """Raises ModelError when the VAD's model cannot be loaded."""
        self._engine = engine
        self._settings = settings
        self._clock = clock
        self._tasks = tasks
        self._post = post
        self._detector = SpeechDetector()
        self._endpointer: Endpointer = SilenceEndpointer(settings.endpoint_hold_ms)
        self._utterance_id = 0
        self._open: UtteranceTranscriber | None = None
        self._ended: dict[int, UtteranceTranscriber] = {}
        self._since_partial_ms = 0.0
        self._decoding = False
        self._last_voiced_ms = -1.0
        self._uplink_ms = 0.0

    async def run(self, frames: AsyncIterator[HeardFrame]) -> None:
        """Hear until the leg ends."""
        async for frame in frames:
            self._hear(frame)

    def _hear(self, frame: HeardFrame) -> None:
        began = time.perf_counter()
        now_ms = self._clock.now_ms()
        progress = self._detector.feed(frame.pcm, self._clock.at_ms(frame.received_ms))
        if progress is None:
            return
        vad_ms = (time.perf_counter() - began) * 1000.0
        if progress.last_voiced_ms > self._last_voiced_ms:
            self._last_voiced_ms = progress.last_voiced_ms
            self._uplink_ms = max(0.0, now_ms - self._clock.at_ms(frame.received_ms))
        if isinstance(progress, SpeechOnset):
            self._begin(progress)
        elif self._open is not None:
            self._open.feed(frame.pcm)
        if self._open is None:
            return
        if self._endpointer.decide(progress, self._open.text) == "endpoint":
            self._end(progress, vad_ms)
        else:
            self._maybe_partial(self._open, progress)

    def _begin(self, onset: SpeechOnset) -> None:
        self._utterance_id += 1
        self._open = UtteranceTranscriber(self._engine, onset.audio)
        self._since_partial_ms = 0.0
        self._decoding = False
        self._post(ev.SpeechStarted(self._clock.now_ms(), self._utterance_id, onset.onset_ms))

    def _end(self, progress: SpeechProgress, vad_ms: float) -> None:
        self._detector.end()
        transcriber, self._open = self._open, None
        if transcriber is not None and progress.voiced_ms >= self._settings.min_speech_ms:
            self._ended[self._utterance_id] = transcriber
        now_ms = self._clock.now_ms()
        self._post(ev.Endpoint(now_ms, self._utterance_id, progress.last_voiced_ms, self._uplink_ms, vad_ms))

    def _maybe_partial(self, transcriber: UtteranceTranscriber, progress: SpeechProgress) -> None:
        self._since_partial_ms += FRAME_MS
        due = self._since_partial_ms >= self._settings.partial_interval_ms
        if due and not self._decoding and progress.silence_ms < PARTIAL_PAUSE_MS:
            self._since_partial_ms = 0.0
            self._decoding = True
            self._tasks.start(OWNER, self._partial(self._utterance_id, transcriber))

    async def _partial(self, utterance_id: int, transcriber: UtteranceTranscriber) -> None:
        try:
            partial = await transcriber.partial()
        except EngineError:
            partial = None
        if utterance_id == self._utterance_id:
            self._decoding = False
            if partial is not None:
                now_ms = self._clock.now_ms()
                self._post(ev.Transcript(now_ms, utterance_id, partial.stable, partial.unstable, partial.decode_ms))

    def transcribe(self, utterance_id: int) -> None:
        """Make the final decode of an endpointed utterance; what was too short to be speech has no words."""
        self._tasks.start(OWNER, self._final(utterance_id, self._ended.pop(utterance_id, None)))

    async def _final(self, utterance_id: int, transcriber: UtteranceTranscriber | None) -> None:
        text = ""
        if transcriber is not None:
            try:
                text = await transcriber.final()
            except EngineError:
                text = transcriber.text
        self._post(ev.FinalTranscript(self._clock.now_ms(), utterance_id, text))
