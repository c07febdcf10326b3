"""What a speech recogniser must offer: one decode of a stretch of audio. Streaming, agreement and gating are built on it."""

from __future__ import annotations

import asyncio
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from voiceagent.errors import EngineError
from voiceagent.stt.hypothesis import Hypothesis
from voiceagent.stt.options import StreamOptions
from voiceagent.turn_taking.expected_value import ExpectedValue


class DecodeDropped(EngineError):
    """A partial decode was skipped because newer ones took its place; this is no error."""


class SttEngine(Protocol):
    """A recogniser shared by all calls of a server."""

    max_audio_s: float
    """The longest stretch of audio that one decode can take."""
    stream: StreamOptions
    """How this recogniser's utterances are windowed and become stable."""

    @property
    def dropped_partials(self) -> int:
        """How many partial decodes were skipped because newer ones took their place."""
        ...

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
        """Decode mono 16 kHz audio in -1..1, shape (samples,). Runs off the event loop. Without `word_times` the words' times may
        be zero. `language` is what the caller spoke so far; empty: not known. A `final` decode goes before partial
        ones, and so does an `urgent` partial. A final whose text is in doubt may be decoded once more, but not before it is
        `wanted`. Only a partial that is not urgent may raise DecodeDropped. Cancelling removes it from the queue. Raises
        EngineError."""
        ...

    async def close(self) -> None:
        """Free the model and its threads."""
        ...


@runtime_checkable
class ExpectsValues(Protocol):
    """What a recogniser may offer besides: it hears a value better where it knows what was asked for."""

    def expecting(self, value: ExpectedValue) -> SttEngine:
        """The same recogniser, for an utterance that may be such a value."""
        ...
