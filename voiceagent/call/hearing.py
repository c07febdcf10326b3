"""The agent's ear: the caller's frames in; onsets, partial transcripts and endpoints out, as events of the turn engine.
Silence reaches the VAD and nothing behind it."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from voiceagent.call.clock import CallClock
from voiceagent.call.tasks import CallTasks
from voiceagent.config import TurnSettings
from voiceagent.conversation import events as ev
from voiceagent.errors import EngineError
from voiceagent.media.leg import HeardFrame
from voiceagent.stt.engine import SttEngine
from voiceagent.stt.stream import UtteranceTranscriber
from voiceagent.vad.detector import DetectorOptions, SpeechDetector, SpeechOnset, SpeechProgress
from voiceagent.vad.endpointer import Endpointer, SilenceEndpointer

log = logging.getLogger(__name__)

FRAME_MS = 20.0
PREROLL_MS = 400.0
"""Audio before the onset that is transcribed too: Silero finds a soft first word up to 300 ms late."""
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
        self._detector = SpeechDetector(DetectorOptions(preroll_ms=PREROLL_MS))
        self._endpointer: Endpointer = SilenceEndpointer(settings.endpoint_hold_ms)
        self._utterance_id = 0
        self._open: UtteranceTranscriber | None = None
        self._ended: dict[int, UtteranceTranscriber] = {}
        self._words = ""
        self._since_partial_ms = 0.0
        self._decoding = False
        self._finalising = False
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
            self._open.feed(frame.pcm, progress.silence_ms)
        if self._open is None:
            return
        decision = self._endpointer.decide(progress, self._words)
        if decision == "endpoint":
            self._end(progress, vad_ms)
        elif decision == "eager" and not self._finalising:
            self._finalising = True
            self._tasks.start(OWNER, self._decode_early(self._open))
        elif decision == "none":
            self._finalising = False
            self._maybe_partial(self._open)

    def _begin(self, onset: SpeechOnset) -> None:
        self._utterance_id += 1
        self._open = UtteranceTranscriber(self._engine)
        self._open.begin(self._utterance_id, onset.audio)
        self._since_partial_ms = 0.0
        self._decoding = self._finalising = False
        self._words = ""
        self._post(ev.SpeechStarted(self._clock.now_ms(), self._utterance_id, onset.onset_ms))

    def _end(self, progress: SpeechProgress, vad_ms: float) -> None:
        self._detector.end()
        transcriber, self._open = self._open, None
        if transcriber is not None and progress.voiced_ms >= self._settings.min_speech_ms:
            self._ended[self._utterance_id] = transcriber
        now_ms = self._clock.now_ms()
        self._post(ev.Endpoint(now_ms, self._utterance_id, progress.last_voiced_ms, self._uplink_ms, vad_ms))

    def _maybe_partial(self, transcriber: UtteranceTranscriber) -> None:
        self._since_partial_ms += FRAME_MS
        if self._since_partial_ms >= self._settings.partial_interval_ms and not self._decoding:
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
                self._words = f"{partial.stable} {partial.unstable}"
                now_ms = self._clock.now_ms()
                self._post(ev.Transcript(now_ms, utterance_id, partial.stable, partial.unstable, partial.decode_ms))

    async def _decode_early(self, transcriber: UtteranceTranscriber) -> None:
        """Begin the final decode inside the pause. Speech that resumes drops it; otherwise `_final` finds it made."""
        with suppress(EngineError):
            await transcriber.final()

    def transcribe(self, utterance_id: int) -> None:
        """Make the final decode of an endpointed utterance; what was too short to be speech has no words."""
        self._tasks.start(OWNER, self._final(utterance_id, self._ended.pop(utterance_id, None), self._words))

    async def _final(self, utterance_id: int, transcriber: UtteranceTranscriber | None, words: str) -> None:
        text = ""
        if transcriber is not None:
            try:
                final = await transcriber.final()
                text = final.text if final is not None else words
            except EngineError as error:
                log.error("the final decode of utterance %d failed, its last partial is used: %s", utterance_id, error)
                text = words
            await transcriber.close()
        self._post(ev.FinalTranscript(self._clock.now_ms(), utterance_id, text))
