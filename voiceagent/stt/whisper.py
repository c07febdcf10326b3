"""Whisper through faster-whisper (CTranslate2), encoding only the audio there is. One decode is one greedy pass with a bounded
number of tokens. Hallucinations are rejected by the gates, not decoded again at a higher temperature. A final in doubt may be
decoded once more, with more padding and several beams."""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict

import msgspec
import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from voiceagent.audio.format import HEARD_HZ
from voiceagent.errors import ConfigError, EngineError, ModelError
from voiceagent.settings_file import options_of
from voiceagent.stt.engine import DecodeDropped, StreamOptions, SttEngine
from voiceagent.stt.gates import rejection
from voiceagent.stt.hypothesis import DecodeWindow, Hypothesis
from voiceagent.stt.queue import DecodeQueue
from voiceagent.stt.vocabulary import Vocabulary
from voiceagent.turn_taking.patience import NOTHING, ExpectedValue
from voiceagent.turn_taking.spoken_language import AUTO, nearest_code

if TYPE_CHECKING:
    from voiceagent.stt.decoder import BatchDecoder
    from voiceagent.stt.short_whisper import ShortWhisper

log = logging.getLogger(__name__)

ENGLISH = "en"
"""The only language of a Whisper without languages."""
NEEDED_FILES = ("model.bin", "config.json", "tokenizer.json")


class WhisperOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of a profile's `stt`."""

    language: str = ENGLISH
    """A language code of Whisper's, or `auto`: a final is written in the one of `languages` that is heard in it. The agent's
    `language` sets it."""
    languages: tuple[str, ...] = ()
    """The languages among which `auto` chooses; empty: all that the model knows. The agent's `languages` or `voices` set it."""
    device: str = "cpu"
    compute_type: str = "default"
    cpu_threads: int = 1
    """Threads for each decode; small models are slower with two."""
    workers: int = 1
    """Threads that decode; one more decodes finals only."""
    max_batch: int = 8
    """Most windows, of different calls, in one run of the model."""
    margin_frames: int = 200
    """Padding after the audio, in feature frames: published models loop with less, the bundled one wants 10."""
    margin_fill: float | Literal["silence"] = "silence"
    """The content of that padding: digital silence, as published models learned, or a value in the features' own scale. There 0
    is mid-way between silence and loud speech."""
    min_frames: int = 800
    """The shortest input of the encoder, in feature frames. Given less, published models repeat a word or two until they are
    stopped (bench/results/people_recogniser.md)."""
    step_frames: int = 100
    """Audio is padded to a multiple of it, so that windows of similar length can share a run."""
    beam_size: int = 1
    suppress_tokens: list[int] | None = None
    """None: faster-whisper's default, which excludes the symbols that nobody speaks."""
    without_timestamps: bool = True
    use_prompt: bool = False
    """Gives committed words that left the audio to the model as its prompt."""
    lead_values: bool = True
    """Writes a short answer to a question for a value once more, led to such values; see `leading_text`."""
    max_audio_s: float = 30.0
    tokens_per_second: float = 12.0
    """With 24 more, the longest transcript of a decode: a loop ends there."""
    loop_penalty: Annotated[float, msgspec.Meta(ge=1.0, le=2.0)] = 1.1
    """A transcript that ends in a loop is written again with this repetition penalty, and then with its cube; 1: never."""
    doubt_below: float | None = None
    """A final whose mean log-probability is lower is decoded again, off the critical path; None: no final is. Text that the gates
    reject is no speech, and is not decoded again."""
    doubt_margin_frames: int = 1500
    """Padding of that second decode; it is filled with 0."""
    doubt_beam_size: int = 3
    stream: StreamOptions = StreamOptions()


class _Known(TypedDict):
    """Arguments of both decodes of a final."""

    prompt: str
    word_times: bool
    final: bool
    language: str


class WhisperEngine(SttEngine):
    """A Whisper shared by all calls; decodes in worker threads, finals first."""

    def __init__(self, path: Path, options: WhisperOptions | None = None) -> None:
        """Load a folder in CTranslate2 format; takes 0.1 to 10 s. Raises ModelError."""
        self.options = options or WhisperOptions()
        self.max_audio_s = self.options.max_audio_s
        self.stream = self.options.stream
        self._expected = NOTHING
        self._vocabulary: Vocabulary | None = None
        from voiceagent.stt.decoder import BatchDecoder  # slow to import; only a running engine needs it

        model = _loaded(path, self.options)
        languages = self._known_languages(model, path)
        self.decoder, self._thorough = (
            BatchDecoder(
                one,
                languages=languages,
                beam_size=beams,
                suppress_tokens=self.options.suppress_tokens,
                without_timestamps=self.options.without_timestamps,
                tokens_per_second=self.options.tokens_per_second,
                loop_penalty=self.options.loop_penalty,
                tries_words=self.options.lead_values,
            )
            for one, beams in (
                (model, self.options.beam_size),
                (model.with_margin(self.options.doubt_margin_frames), self.options.doubt_beam_size),
            )
        )
        self.queue: DecodeQueue[DecodeWindow, Hypothesis] = DecodeQueue(
            self._decode, group=self._shape, max_batch=self.options.max_batch, workers=self.options.workers
        )

    def _known_languages(self, model: ShortWhisper, path: Path) -> tuple[str, ...]:
        """The codes of the language that is set, or of those that `auto` chooses among. Raises ConfigError."""
        if not model.model.is_multilingual:
            if self.options.language != ENGLISH:
                raise ConfigError(
                    f"language is {self.options.language!r}; the recogniser {path.name} understands English only: name a "
                    "multilingual Whisper by stt.path"
                )
            return (ENGLISH,)
        known = model.supported_languages
        is_open = self.options.language == AUTO
        languages = (self.options.languages or (ENGLISH, *known)) if is_open else (self.options.language,)
        for code in languages:
            if code not in known:
                setting = "languages holds" if is_open else "language is"
                expected = "" if is_open else "`auto` or "
                raise ConfigError(
                    f"{setting} {code!r}; the recogniser {path.name} expects {expected}one of: {', '.join(known)}"
                    f"{nearest_code(code, known)}"
                )
        return languages

    @override
    async def transcribe(
        self,
        audio: NDArray[np.float32],
        *,
        prompt: str = "",
        word_times: bool = False,
        final: bool = False,
        language: str = "",
        urgent: bool = False,
        wanted: asyncio.Event | None = None,
    ) -> Hypothesis:
        known: _Known = {"prompt": prompt, "word_times": word_times, "final": final, "language": language}
        first = await self.decode_once(audio, **known, urgent=urgent)
        if not final or not self.doubts(first, len(audio) / HEARD_HZ):
            return first
        if wanted is not None:
            await wanted.wait()
        try:
            second = await self.decode_once(audio, **known, thorough=True)
        except DecodeDropped:
            return first
        return max(first, second, key=lambda one: one.mean_log_probability)

    async def decode_once(
        self,
        audio: NDArray[np.float32],
        *,
        prompt: str = "",
        word_times: bool = False,
        final: bool = False,
        language: str = "",
        urgent: bool = False,
        thorough: bool = False,
    ) -> Hypothesis:
        """See `DoubtsFinals`."""
        duration_s = len(audio) / HEARD_HZ
        if duration_s > self.max_audio_s:
            raise EngineError(f"{duration_s:.1f} s of audio for one decode: at most {self.max_audio_s:g} s")
        if thorough and self.queue.waiting:
            raise DecodeDropped("other decodes wait")
        window = DecodeWindow(
            audio,
            prompt if self.options.use_prompt else "",
            word_times,
            thorough=thorough,
            language=language,
            detect=final and self.options.language == AUTO,
            expected=self._expected,
            vocabulary=self._vocabulary,
        )
        return await self.queue.run(window, final=final or urgent)

    def expecting(self, value: ExpectedValue) -> WhisperEngine:
        """See `ExpectsValues`. The model and its queue are shared."""
        other = copy.copy(self)
        other._expected = value if self.options.lead_values else NOTHING
        return other

    def knowing(self, vocabulary: Vocabulary) -> WhisperEngine:
        """See `KnowsVocabulary`. The model and its queue are shared."""
        other = copy.copy(self)
        other._vocabulary = vocabulary
        return other

    def doubts(self, heard: Hypothesis, duration_s: float) -> bool:
        """See `DoubtsFinals`."""
        below = self.options.doubt_below
        if below is None or not heard.words or heard.mean_log_probability >= below:
            return False
        return not rejection(heard, duration_s * 1000, self.stream.limits)

    @property
    @override
    def dropped_partials(self) -> int:
        return self.queue.dropped_partials

    def _decoder(self, window: DecodeWindow) -> BatchDecoder:
        return self._thorough if window.thorough else self.decoder

    def _shape(self, window: DecodeWindow) -> Hashable:
        return window.thorough, self._decoder(window).shape(window)

    def _decode(self, windows: Sequence[DecodeWindow]) -> list[Hypothesis]:
        try:
            return self._decoder(windows[0]).decode(windows)
        except Exception as error:
            raise EngineError(f"the speech recogniser failed: {type(error).__name__}: {error}") from error

    @override
    async def close(self) -> None:
        await self.queue.close()


def _loaded(path: Path, options: WhisperOptions) -> ShortWhisper:
    missing = [name for name in NEEDED_FILES if not (path / name).is_file()]
    if missing:
        raise ModelError(f"{path}: no {missing[0]} in it; expected a Whisper in CTranslate2 format ({', '.join(NEEDED_FILES)})")
    from voiceagent.stt.short_whisper import ShortWhisper  # slow to import; only a running engine needs it

    try:
        return ShortWhisper(
            str(path),
            margin_frames=options.margin_frames,
            min_frames=options.min_frames,
            step_frames=options.step_frames,
            margin_fill=options.margin_fill,
            device=options.device,
            compute_type=options.compute_type,
            cpu_threads=options.cpu_threads,
            num_workers=options.workers + 1,
            local_files_only=True,
        )
    except Exception as error:  # CTranslate2, tokenizers and json share no base
        line = (str(error).splitlines() or [type(error).__name__])[0]
        raise ModelError(
            f"{path}: cannot be loaded as a Whisper ({line}); fetch it again with: voiceagent models pull"
        ) from error


def create(path: Path | None, options: Mapping[str, object]) -> WhisperEngine:
    """The plugin `whisper` of `voiceagent.stt`: `path` is a folder in CTranslate2 format. Raises ModelError, ConfigError."""
    if path is None:
        raise ConfigError("stt engine whisper: needs a model; name one of models/registry.yaml")
    return WhisperEngine(path, options_of(options, WhisperOptions, "stt engine whisper"))
