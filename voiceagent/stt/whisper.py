"""Whisper through faster-whisper (CTranslate2), encoding only the audio there is. One decode is one greedy pass with
a bounded number of tokens: what it makes up is refused by the gates, not decoded again at a higher temperature."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from voiceagent.errors import ConfigError, EngineError, ModelError
from voiceagent.stt.engine import Hypothesis, RecognisedWord
from voiceagent.stt.queue import DecodeQueue

log = logging.getLogger(__name__)

RATE_HZ = 16_000
PROMPT_CHARACTERS = 200
NEEDED_FILES = ("model.bin", "config.json", "tokenizer.json")


class WhisperOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of a profile's `stt`."""

    language: str = "en"
    device: str = "cpu"
    compute_type: str = "default"
    cpu_threads: int = 1
    """For each decode: small models are slower with two."""
    workers: int = 1
    """Decodes at the same time."""
    margin_frames: int = 256
    """Padding after the audio, in feature frames: published models loop with less, the bundled one wants 10."""
    min_frames: int = 50
    beam_size: int = 1
    suppress_tokens: list[int] | None = None
    """None: faster-whisper's default, none of the symbols that nobody speaks."""
    without_timestamps: bool = True
    use_prompt: bool = False
    """Whether committed words that left the audio are given to the model as its prompt."""
    max_audio_s: float = 30.0
    tokens_per_second: float = 12.0
    """With 24 more, the longest transcript of a decode: a loop ends there."""


class WhisperEngine:
    """A Whisper shared by all calls; decodes in worker threads, finals first."""

    def __init__(self, path: Path, options: WhisperOptions | None = None) -> None:
        """Load a folder in CTranslate2 format; takes 0.1 to 10 s. Raises ModelError."""
        self.options = options or WhisperOptions()
        self.max_audio_s = self.options.max_audio_s
        missing = [name for name in NEEDED_FILES if not (path / name).is_file()]
        if missing:
            raise ModelError(
                f"{path}: no {missing[0]} in it; expected a Whisper in CTranslate2 format ({', '.join(NEEDED_FILES)})"
            )
        from voiceagent.stt.short_whisper import ShortWhisper  # slow to import; only a running engine needs it

        try:
            self._model = ShortWhisper(
                str(path),
                margin_frames=self.options.margin_frames,
                min_frames=self.options.min_frames,
                device=self.options.device,
                compute_type=self.options.compute_type,
                cpu_threads=self.options.cpu_threads,
                num_workers=self.options.workers,
                local_files_only=True,
            )
        except Exception as error:  # CTranslate2, tokenizers and json share no base
            line = (str(error).splitlines() or [type(error).__name__])[0]
            raise ModelError(
                f"{path}: cannot be loaded as a Whisper ({line}); fetch it again with: voiceagent models pull"
            ) from error
        self.queue: DecodeQueue[Hypothesis] = DecodeQueue(self.options.workers)

    async def transcribe(
        self, audio: NDArray[np.float32], *, prompt: str = "", word_times: bool = False, final: bool = False
    ) -> Hypothesis:
        """See `SttEngine.transcribe`."""
        duration_s = len(audio) / RATE_HZ
        if duration_s > self.max_audio_s:
            raise EngineError(f"{duration_s:.1f} s of audio for one decode: at most {self.max_audio_s:g} s")
        return await self.queue.run(lambda: self._decode(audio, prompt, word_times), final=final)

    def _decode(self, audio: NDArray[np.float32], prompt: str, word_times: bool) -> Hypothesis:
        options = self.options
        suppress = {} if options.suppress_tokens is None else {"suppress_tokens": options.suppress_tokens}
        try:
            segments, _ = self._model.transcribe(
                audio,
                language=options.language,
                beam_size=options.beam_size,
                temperature=0.0,
                condition_on_previous_text=False,
                initial_prompt=prompt[-PROMPT_CHARACTERS:] if prompt and options.use_prompt else None,
                without_timestamps=options.without_timestamps,
                word_timestamps=word_times,
                no_speech_threshold=None,
                log_prob_threshold=None,
                compression_ratio_threshold=None,
                max_new_tokens=24 + int(options.tokens_per_second * len(audio) / RATE_HZ),
                **suppress,
            )
            found = list(segments)
        except Exception as error:
            raise EngineError(f"the speech recogniser failed: {type(error).__name__}: {error}") from error
        if not found:
            return Hypothesis((), 1.0, 0.0, 0.0)
        tokens = sum(max(1, len(segment.tokens)) for segment in found)
        log_probability = sum(segment.avg_logprob * max(1, len(segment.tokens)) for segment in found) / tokens
        return Hypothesis(
            words=tuple(word for segment in found for word in _words(segment)),
            no_speech_probability=max(segment.no_speech_prob for segment in found),
            mean_log_probability=float(log_probability),
            compression_ratio=max(segment.compression_ratio for segment in found),
        )

    async def close(self) -> None:
        """See `SttEngine.close`."""
        await self.queue.close()


def _words(segment: Any) -> list[RecognisedWord]:
    """A segment's words; pieces that stand without a space before them belong to the word before."""
    if not segment.words:
        return [RecognisedWord(text, 0.0, 0.0, 1.0) for text in segment.text.split()]
    words: list[RecognisedWord] = []
    for piece in segment.words:
        text, glued = piece.word.strip(), not piece.word.startswith(" ")
        if not text:
            continue
        if glued and words:
            before = words[-1]
            joined = before.text + text
            words[-1] = RecognisedWord(joined, before.start_s, float(piece.end), min(before.probability, piece.probability))
        else:
            words.append(RecognisedWord(text, float(piece.start), float(piece.end), float(piece.probability)))
    return words


def create(path: Path | None, options: Mapping[str, Any]) -> WhisperEngine:
    """The plugin `whisper` of `voiceagent.stt`: `path` is a folder in CTranslate2 format. Raises ModelError, ConfigError."""
    if path is None:
        raise ConfigError("stt engine whisper: needs a model; name one of models/registry.yaml")
    try:
        return WhisperEngine(path, msgspec.convert(dict(options), WhisperOptions))
    except msgspec.ValidationError as error:
        raise ConfigError(f"stt engine whisper: {error}") from error
