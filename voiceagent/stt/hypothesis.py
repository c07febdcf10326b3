"""One decode: the window of audio that goes in; the words that come out, with the figures by which the gates judge them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voiceagent.turn_taking.patience import NOTHING, ExpectedValue


@dataclass(frozen=True, slots=True, eq=False)
class DecodeWindow:
    """One stretch of audio to decode."""

    audio: NDArray[np.float32]
    """Mono 16 kHz in -1..1, shape (samples,)."""
    prompt: str = ""
    """The words said before it."""
    word_times: bool = False
    thorough: bool = False
    """The window is decoded once more, because its text was in doubt."""
    language: str = ""
    """The code of the language that is probably spoken in it; empty: the engine's own setting."""
    detect: bool = False
    """True when the recogniser is to detect the language."""
    expected: ExpectedValue = NOTHING
    """The value that was asked for, and may be said in it."""


@dataclass(frozen=True, slots=True)
class RecognisedWord:
    """A word with its place in the audio that was decoded; `text` has no surrounding spaces."""

    text: str
    start_s: float
    end_s: float
    probability: float


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One decode's text. The last three figures feed the hallucination gates."""

    words: tuple[RecognisedWord, ...]
    no_speech_probability: float
    mean_log_probability: float
    compression_ratio: float
    language: str = ""
    """The language that the recogniser detected; empty where it was set."""

    @property
    def text(self) -> str:
        """The words as one line."""
        return " ".join(word.text for word in self.words)
