"""What a speech recogniser must offer: one decode of a stretch of audio. Streaming, agreement and gating are built on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from voiceagent.errors import EngineError


class DecodeDropped(EngineError):
    """A partial decode was not made because newer ones took its place; nothing is wrong."""


@dataclass(frozen=True, slots=True)
class RecognisedWord:
    """A word with its place in the audio that was decoded; `text` has no surrounding spaces."""

    text: str
    start_s: float
    end_s: float
    probability: float


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One decode. The three last figures feed the hallucination gates."""

    words: tuple[RecognisedWord, ...]
    no_speech_probability: float
    mean_log_probability: float
    compression_ratio: float

    @property
    def text(self) -> str:
        """The words as one line."""
        return " ".join(word.text for word in self.words)


class SttEngine(Protocol):
    """A recogniser shared by all calls of a server."""

    max_audio_s: float
    """The longest stretch of audio that one decode can take."""

    async def transcribe(
        self, audio: NDArray[np.float32], *, prompt: str = "", word_times: bool = False, final: bool = False
    ) -> Hypothesis:
        """Decode mono 16 kHz audio in -1..1, shape (samples,). Runs off the event loop. Without `word_times` the
        words' times may be zero. A `final` decode goes before partial ones, and only a partial may raise DecodeDropped.
        Cancelling takes it out of the queue. Raises EngineError."""
        ...

    async def close(self) -> None:
        """Free the model and its threads."""
        ...
