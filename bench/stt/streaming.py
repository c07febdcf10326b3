"""An utterance through our own ear in virtual time: the real VAD, transcriber and recogniser, frame by frame as `call/hearing.py`
drives them, but the clock is the audio received plus the time that each decode took. So nothing waits for real time, and a
figure is the same as in a call with a core of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bench.stt.decodes import Decode
from bench.stt.speech import RATE_HZ, Spoken
from bench.stt.word_latency import Shown
from voiceagent.audio.format import FRAME_MS
from voiceagent.call.hearing import PAUSE_MS, PREROLL_MS
from voiceagent.stt.engine import StreamOptions, SttEngine
from voiceagent.stt.stream import UtteranceTranscriber
from voiceagent.vad.detector import DetectorOptions, SpeechDetector, SpeechOnset, SpeechProgress

FRAME_SAMPLES = 320
LEAD_MS = 500.0
TAIL_MS = 400.0


@dataclass(slots=True)
class Streamed:
    """The results of one utterance."""

    audio_s: float
    text: str = ""
    timeline: list[Shown] = field(default_factory=list)
    """Every partial, and the final as the last; times are milliseconds since the speech began."""
    intervals_ms: list[float] = field(default_factory=list)
    """Between one partial and the next, where no pause lay between them."""
    cpu_s: list[float] = field(default_factory=list)
    """CPU time of the recogniser, of each second of audio."""
    rejected: int = 0


class Listener:
    """Streams one utterance after the other.

    Args:
        engine: the recogniser.
        options: windowing and policy; None: the engine's own.
        interval_ms: audio between the beginnings of two partial decodes.
        log: where each decode's beginning is noted.
    """

    def __init__(
        self,
        engine: SttEngine,
        options: StreamOptions | None = None,
        interval_ms: float = 200.0,
        log: list[Decode] | None = None,
    ) -> None:
        self._log = [] if log is None else log
        self._engine = engine
        self._options = options
        self._interval_ms = interval_ms

    async def hear(self, spoken: Spoken) -> Streamed:
        """Stream an utterance up to its final."""
        streamed = Streamed(len(spoken.audio) / RATE_HZ)
        ear = _Ear(UtteranceTranscriber(self._engine, self._options), self._interval_ms, streamed, self._log)
        for index, frame in enumerate(_frames(spoken.audio)):
            await ear.hear(frame, (index + 1) * FRAME_MS - LEAD_MS)
        await ear.close()
        return ear.streamed


class _Ear:
    def __init__(self, transcriber: UtteranceTranscriber, interval_ms: float, streamed: Streamed, log: list[Decode]) -> None:
        self.streamed = streamed
        self._log = log
        self._last_final = Shown(0.0, "", "")
        self._transcriber = transcriber
        self._interval_ms = interval_ms
        self._detector = SpeechDetector(DetectorOptions(preroll_ms=PREROLL_MS))
        self._begun = self._paused = False
        self._since_partial_ms = 0.0
        self._busy_until_ms = 0.0
        self._last_partial_ms: float | None = None

    async def hear(self, frame: NDArray[np.int16], now_ms: float) -> None:
        progress = self._detector.feed(frame, now_ms)
        if progress is None:
            return
        began_s = time.process_time()
        await self._follow(frame, progress, now_ms)
        second = max(0, int(now_ms // 1000))
        self.streamed.cpu_s += [0.0] * (second + 1 - len(self.streamed.cpu_s))
        self.streamed.cpu_s[second] += time.process_time() - began_s

    async def _follow(self, frame: NDArray[np.int16], progress: SpeechProgress, now_ms: float) -> None:
        if isinstance(progress, SpeechOnset) and not self._begun:
            self._begun = True
            self._transcriber.begin(1, progress.audio)
        else:
            self._transcriber.feed(frame, progress.silence_ms)
        if progress.silence_ms < PAUSE_MS:
            self._paused = False
            self._since_partial_ms += FRAME_MS
            if self._since_partial_ms >= self._interval_ms and now_ms >= self._busy_until_ms:
                self._since_partial_ms = 0.0
                await self._partial(now_ms)
        elif not self._paused:
            self._paused, self._last_partial_ms = True, None
            await self._final(now_ms)

    async def _partial(self, now_ms: float) -> None:
        self._log.append(Decode(now_ms))
        began_s = time.perf_counter()
        partial = await self._transcriber.partial()
        if partial is None:
            return
        shown_ms = self._took(now_ms, began_s)
        self.streamed.timeline.append(Shown(shown_ms, partial.stable, partial.unstable))
        if self._last_partial_ms is not None:
            self.streamed.intervals_ms.append(shown_ms - self._last_partial_ms)
        self._last_partial_ms = shown_ms

    async def _final(self, now_ms: float) -> None:
        """The decode in the pause. It is shown only when it is the last: the agent's answer follows it."""
        self._log.append(Decode(now_ms))
        began_s = time.perf_counter()
        final = await self._transcriber.final()
        if final is not None:
            self._last_final = Shown(self._took(now_ms, began_s), final.text, "")
            self.streamed.rejected += bool(final.rejected)

    def _took(self, now_ms: float, began_s: float) -> float:
        self._busy_until_ms = now_ms + (time.perf_counter() - began_s) * 1000
        return self._busy_until_ms

    async def close(self) -> None:
        self.streamed.timeline.append(self._last_final)
        self.streamed.text = self._last_final.stable
        await self._transcriber.close()


def _frames(audio: NDArray[np.int16]) -> Iterator[NDArray[np.int16]]:
    lead, tail = (np.zeros(int(ms / 1000 * RATE_HZ), np.int16) for ms in (LEAD_MS, TAIL_MS))
    padded = np.concatenate([lead, audio, tail])
    for at in range(0, len(padded) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
        yield padded[at : at + FRAME_SAMPLES]
