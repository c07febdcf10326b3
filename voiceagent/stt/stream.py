"""One call's streaming transcription: frames of the open utterance in, stable and unstable words out as it grows, and the
committed text at its end. Silence is never decoded. Audio whose words are committed is dropped, so neither memory nor the time of
a decode grows with the utterance."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import HEARD_HZ
from voiceagent.stt.engine import DecodeDropped, ExpectsValues, StreamOptions, SttEngine
from voiceagent.stt.gates import rejection
from voiceagent.stt.hypothesis import AlignAtt, Hypothesis, LocalAgreement, RecognisedWord, StableWords, clear_of
from voiceagent.task_owner import TaskOwner
from voiceagent.turn_taking.patience import ExpectedValue


class AudioWindow:
    """The part of an utterance's audio that is still needed, from `start` to `end`. Frames are added at its end, and committed
    audio is dropped at its start, so it stays as short as the longest window. Positions are samples since the utterance's
    beginning, not counting what was left out."""

    def __init__(self) -> None:
        self.start = 0
        self.end = 0
        self._parts: deque[NDArray[np.int16]] = deque()

    def append(self, audio: NDArray[np.int16]) -> None:
        """Add mono 16 kHz audio, shape (samples,), to the end."""
        self._parts.append(audio)
        self.end += len(audio)

    def let_go(self, position: int) -> None:
        """Forget what lies before `position`."""
        while self._parts and self.start < position:
            head = self._parts.popleft()
            if self.start + len(head) > position:
                self._parts.appendleft(head[position - self.start :].copy())
                self.start = position
            else:
                self.start += len(head)

    def leave_out(self, start: int, end: int) -> None:
        """Forget the audio from `start` to `end`, both within the window; the audio behind it moves up."""
        audio = self._joined()
        self._parts = deque([audio[: start - self.start], audio[end - self.start :]])
        self.end -= end - start

    def between(self, start: int, end: int) -> NDArray[np.float32]:
        """Audio from `start` to `end` in -1..1."""
        audio = self._joined()[start - self.start : end - self.start]
        return audio.astype(np.float32) / np.float32(32768)

    def _joined(self) -> NDArray[np.int16]:
        return np.concatenate([np.zeros(0, np.int16), *self._parts])


log = logging.getLogger(__name__)

SAMPLES_PER_MS = HEARD_HZ // 1000
MIN_CUT_S = 3.0
"""A cut must free at least this much audio."""
EDGE_S = 1.0
"""Words this near to the end of a full window may be cut in half: they are decoded again."""
CUT_BEHIND_MS = 100
"""A pause is cut this long after its beginning: a soft next word begins up to 300 ms before the VAD hears it."""
PAUSE_TAIL = 0.8
"""The share of a shortened pause that is kept before the next word, for the same reason."""
SENTENCE_ENDS = (".", "?", "!")
PROMPT_WORDS = 40
"""Committed words that are handed to the next decode."""


@dataclass(frozen=True, slots=True)
class PartialText:
    """The open utterance so far."""

    utterance_id: int
    stable: str
    unstable: str
    decode_ms: float


@dataclass(frozen=True, slots=True)
class FinalText:
    """The utterance's text; empty when there were no words. `rejected` names the gate that rejected some; `language` is what the
    recogniser detected, if it was not told."""

    utterance_id: int
    text: str
    decode_ms: float
    rejected: str = ""
    language: str = ""


class _Extra(TypedDict, total=False):
    """Arguments that a recogniser is given only where there is something to say."""

    language: str
    urgent: bool
    wanted: asyncio.Event


@dataclass(frozen=True, slots=True)
class _Final:
    """The decode of the utterance up to a place in its audio."""

    end: int
    task: asyncio.Task[FinalText]
    wanted: asyncio.Event
    """Set once the text is needed, and not only likely to be."""


class UtteranceTranscriber:
    """Transcribes one call, an utterance at a time."""

    def __init__(self, engine: SttEngine, options: StreamOptions | None = None, language: str = "", heard: str = "") -> None:
        """`options`: the engine's own, unless given. If the caller may speak several languages, partials are written in
        `language`, the call's, and `heard` is that of the caller's words before."""
        self.options = options or engine.stream
        self._language, self._heard = language, heard
        self._engine = engine
        self._utterance_id = -1
        self._decodes = TaskOwner()
        self._clear()

    def _clear(self) -> None:
        self._audio = AudioWindow()
        self._words: StableWords = AlignAtt() if self.options.policy == "alignatt" else LocalAgreement()
        self._committed: list[str] = []
        self._voiced_end = 0
        self._decoded_end = 0
        self._final: _Final | None = None

    def begin(self, utterance_id: int, audio: NDArray[np.int16]) -> None:
        """Begin a new utterance: mono 16 kHz audio from just before its onset up to now, shape (samples,)."""
        self._drop_final()
        self._clear()
        self._utterance_id = utterance_id
        self._audio.append(audio)
        self._voiced_end = self._audio.end

    def feed(self, frame: NDArray[np.int16], silence_ms: float) -> None:
        """Add the utterance's next audio, shape (samples,), and how long it has been silent at its end. New speech drops a final
        that was begun. If the pause was long enough to cut there, the final is kept for good."""
        pause_samples = self._audio.end - self._voiced_end
        self._audio.append(frame)
        voiced_end = self._audio.end - int(silence_ms * SAMPLES_PER_MS)
        if voiced_end > self._voiced_end:
            self._keep_final(pause_samples)
            self._voiced_end = voiced_end - self._shorten_pause(pause_samples)
            self._drop_final()
        excess = self._audio.end - self._audio.start - int(self.options.max_buffer_s * HEARD_HZ)
        if excess > 0:
            self._audio.let_go(self._audio.start + excess)

    def expect(self, value: ExpectedValue) -> None:
        """From now on, the utterance may be such a value. Not every recogniser makes use of that."""
        if isinstance(self._engine, ExpectsValues):
            self._engine = self._engine.expecting(value)

    async def partial(self, *, urgent: bool = False) -> PartialText | None:
        """Decode the utterance so far; an urgent decode goes before the partials of other calls. None when nothing was said since
        the last decode, when the decode made room for newer ones, or when the utterance moved on to its final. Raises
        EngineError."""
        if self._voiced_end <= self._decoded_end or self._final is not None:
            return None
        self._decoded_end = self._voiced_end
        start, end, words = self._audio.start, self._window_end(), self._words
        window_s = (end - start) / HEARD_HZ
        full = end < self._voiced_end
        trim = full or window_s > min(self.options.trim_after_s, self._engine.max_audio_s * 0.6)
        began = time.perf_counter()
        try:
            timed = trim or self.options.policy == "alignatt"
            hypothesis = await self._transcribe(start, end, self._committed, word_times=timed, urgent=urgent)
        except DecodeDropped:
            return None
        if words is not self._words or self._final is not None:
            return None
        heard = hypothesis.words
        if rejection(hypothesis, (min(end, self._decoded_end) - start) / SAMPLES_PER_MS, self.options.limits):
            heard = ()
        clear = clear_of(heard, window_s - self.options.edge_ms / 1000) if timed else 0
        stable = words.update([word.text for word in heard], clear)
        if trim:
            self._trim(heard, stable, window_s, full=full)
        decode_ms = (time.perf_counter() - began) * 1000
        text = " ".join([*self._committed, *self._words.stable])
        return PartialText(self._utterance_id, text, " ".join(self._words.unstable), decode_ms)

    async def final(self, *, early: bool = False) -> FinalText | None:
        """Decode the whole utterance. A second request without new speech in between returns the same answer at no cost, so the
        decode can begin in the pause, before it is known that the caller has finished. An `early` request, in a silence that may
        be none of speech's pauses, has nothing decoded again that is in doubt. None when new speech or a new utterance made it
        worthless. Raises EngineError."""
        end, known = self._voiced_end, self._final
        if known is None or known.end != end or known.task.cancelled() or _failed(known.task):
            self._drop_final()
            wanted = asyncio.Event()
            task = self._decodes.start(self._decode_final(self._utterance_id, wanted), "final decode")
            known = self._final = _Final(end, task, wanted)
        if not early:
            known.wanted.set()
        await asyncio.wait([known.task])
        return None if known.task.cancelled() else known.task.result()

    def forget_early_final(self) -> None:
        """Drop a final that was begun early and that nobody will want."""
        if self._final is not None and not self._final.wanted.is_set():
            self._drop_final()

    async def close(self) -> None:
        """Cancel running decodes and free the audio."""
        self._drop_final()
        self._clear()
        await self._decodes.close()

    def _keep_final(self, pause_samples: int) -> None:
        """Commit the words of a final that new speech would drop, if a sentence ended with it or the pause was long. Later audio
        is decoded without the audio before it."""
        task = self._final.task if self._final is not None else None
        if task is None or not task.done() or task.cancelled() or _failed(task):
            return
        final = task.result()
        options = self.options
        needed_ms = options.sentence_pause_ms if final.text.endswith(SENTENCE_ENDS) else options.cut_pause_ms
        if final.rejected or not final.text or pause_samples < needed_ms * SAMPLES_PER_MS:
            return
        self._committed = final.text.split()
        self._words = type(self._words)()
        self._audio.let_go(self._voiced_end + min(pause_samples // 2, CUT_BEHIND_MS * SAMPLES_PER_MS))

    def _shorten_pause(self, pause_samples: int) -> int:
        """Leave out the middle of a long pause that has just ended; returns how many samples were left out."""
        longest = int(self.options.longest_pause_ms * SAMPLES_PER_MS)
        end = self._voiced_end + pause_samples - int(longest * PAUSE_TAIL)
        start = max(self._audio.start, end - max(0, pause_samples - longest))
        if end <= start:
            return 0
        self._audio.leave_out(start, end)
        return end - start

    def _drop_final(self) -> None:
        if self._final is not None:
            self._final.task.cancel()
            self._final = None

    def _window_end(self) -> int:
        padded = min(self._audio.end, self._voiced_end + int(self.options.pad_ms * SAMPLES_PER_MS))
        return min(padded, self._audio.start + int(self._engine.max_audio_s * HEARD_HZ))

    async def _transcribe(
        self,
        start: int,
        end: int,
        committed: list[str],
        *,
        word_times: bool,
        urgent: bool = False,
        wanted: asyncio.Event | None = None,
    ) -> Hypothesis:
        audio = self._audio.between(start, end)
        prompt = " ".join(committed[-PROMPT_WORDS:])
        language = self._language if wanted is None else self._heard
        known: _Extra = {"language": language} if language else {}
        if urgent:
            known["urgent"] = True
        if wanted is not None and not wanted.is_set():
            known["wanted"] = wanted
        return await self._engine.transcribe(audio, prompt=prompt, word_times=word_times, final=wanted is not None, **known)

    async def _decode_final(self, utterance_id: int, wanted: asyncio.Event) -> FinalText:
        began = time.perf_counter()
        committed, rejected, language = list(self._committed), "", ""
        start, last = self._audio.start, min(self._audio.end, self._voiced_end + int(self.options.pad_ms * SAMPLES_PER_MS))
        while start < last:
            end = min(last, start + int(self._engine.max_audio_s * HEARD_HZ))
            hypothesis = await self._transcribe(start, end, committed, word_times=end < last, wanted=wanted)
            words, cut, language = hypothesis.words, end, hypothesis.language or language
            if end < last:
                count, cut_s = _settled(words, (end - start) / HEARD_HZ)
                words, cut = words[:count], start + int(cut_s * HEARD_HZ)
            refused = rejection(hypothesis, (min(end, self._voiced_end) - start) / SAMPLES_PER_MS, self.options.limits)
            if refused:
                log.info("utterance %d: %d words are not believed: %s", utterance_id, len(hypothesis.words), refused)
                rejected = refused
            else:
                committed += [word.text for word in words]
            start = cut
        return FinalText(utterance_id, " ".join(committed), (time.perf_counter() - began) * 1000, rejected, language)

    def _trim(self, words: Sequence[RecognisedWord], stable: int, window_s: float, *, full: bool) -> None:
        """Drop the audio of stable words, cut in the longest pause between them. If the window is full, drop all but its end."""
        pauses = [(words[i].start_s - words[i - 1].end_s, i) for i in range(1, stable) if words[i - 1].end_s >= MIN_CUT_S]
        if pauses:
            _, count = max(pauses)
            cut_s = (words[count - 1].end_s + words[count].start_s) / 2
            kept = self._words.stable[len(self._words.stable) - (stable - count) :]
            self._words = type(self._words)(kept, self._words.unstable)
        elif full or window_s > self._engine.max_audio_s * 0.9:
            count, cut_s = _settled(words, window_s)
            self._words = type(self._words)([], [word.text for word in words[count:]])
        else:
            return
        self._committed += [word.text for word in words[:count]]
        self._audio.let_go(self._audio.start + int(cut_s * HEARD_HZ))
        self._decoded_end = 0 if full else self._decoded_end


def _settled(words: Sequence[RecognisedWord], window_s: float) -> tuple[int, float]:
    """The number of words that end clear of the end of a window inside speech, and the end of the last of them."""
    clear = [word for word in words if word.end_s <= window_s - EDGE_S]
    cut_s = clear[-1].end_s if clear else window_s - EDGE_S
    return len(clear), max(cut_s, window_s / 2)


def _failed(task: asyncio.Task[FinalText]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is not None
