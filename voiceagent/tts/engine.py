"""The interface of a speech synthesiser to a call."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from voiceagent.conversation.events import SpokenWord


@dataclass(frozen=True, slots=True)
class SpeechChunk:
    """A stretch of a clause's audio: `pcm` is mono int16, shape (samples,), at the engine's rate. `words` are those that
    begin in it, with times from the start of the CLAUSE."""

    pcm: NDArray[np.int16]
    words: tuple[SpokenWord, ...]


class TtsEngine(Protocol):
    """A voice shared by all calls of a server."""

    sample_rate_hz: int

    def synthesise(self, text: str) -> AsyncGenerator[SpeechChunk, None]:
        """Speak a clause. Chunks come in order, the first as early as the engine can. Words cover the whole text in order (their
        `text`s, joined by spaces, equal the clause with its white space collapsed). Closing the generator stops the work. Raises
        EngineError."""
        ...

    async def close(self) -> None:
        """Free the model and its threads."""
        ...


def reads_ipa(engine: TtsEngine) -> bool:
    """True when the engine speaks phonemes in the text, between `IPA_BEGIN` and `IPA_END`. The engine declares it."""
    return bool(getattr(engine, "reads_ipa", False))
