"""The interface of a speech recogniser: one decode of a stretch of audio. Streaming, agreement and gating are built on it."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal, Protocol, runtime_checkable

import msgspec
import numpy as np
from numpy.typing import NDArray

from voiceagent.errors import EngineError
from voiceagent.stt.gates import GateLimits
from voiceagent.stt.hypothesis import Hypothesis
from voiceagent.stt.vocabulary import Vocabulary
from voiceagent.turn_taking.patience import ExpectedValue

Policy = Literal["agreement", "alignatt"]
Positive = Annotated[float, msgspec.Meta(gt=0)]
NotNegative = Annotated[float, msgspec.Meta(ge=0)]


class StreamOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options for the windows of an utterance, and for the words that count as stable. They belong to a model: a profile sets
    them as `stream` among the options of its recogniser."""

    policy: Policy = "agreement"
    """The stable words of a partial: those that two decodes in a row agree on (`agreement`), or those that end clear of the
    audio's edge (`alignatt`, one decode sooner, but each decode is aligned)."""
    edge_ms: NotNegative = 400.0
    """With `alignatt`, how long before the end of the audio a word must end to be stable."""
    pad_ms: NotNegative = 200.0
    """Audio kept after the last voiced sample of a decode."""
    longest_pause_ms: Positive = 1000.0
    """The middle of a longer pause inside an utterance is not decoded, because models stop writing at a long silence."""
    sentence_pause_ms: NotNegative = 500.0
    """A pause this long behind a sentence is a cut: the sentence is committed, and later audio is decoded without the
    sentence's."""
    cut_pause_ms: NotNegative = 1000.0
    """`sentence_pause_ms` in the middle of a sentence."""
    trim_after_s: Positive = 12.0
    """A longer window drops the audio of its committed words."""
    max_buffer_s: Positive = 120.0
    """Audio older than this is lost: there was no decode for that long."""
    limits: GateLimits = GateLimits()
    """Beyond these limits a decode is rejected."""


DROPPED = "dropped"


class DecodeDropped(EngineError):
    """A partial decode was skipped because newer ones took its place; this is no error."""

    def __init__(self, message: str) -> None:
        super().__init__(message, DROPPED)


class SttEngine(Protocol):
    """A recogniser shared by all calls of a server."""

    max_audio_s: float
    """The longest stretch of audio that one decode can take."""
    stream: StreamOptions
    """The windows and the stable words of this recogniser's utterances."""

    @property
    def dropped_partials(self) -> int:
        """The number of partial decodes that were skipped because newer ones took their place."""
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
    """An optional ability of a recogniser: it hears a value better where it knows the question."""

    def expecting(self, value: ExpectedValue) -> SttEngine:
        """This recogniser, for an utterance that may be such a value."""
        ...


@runtime_checkable
class KnowsVocabulary(Protocol):
    """An optional ability of a recogniser: it hears words that it is told of."""

    def knowing(self, vocabulary: Vocabulary) -> SttEngine:
        """This recogniser, for calls in which these words may be said."""
        ...


@runtime_checkable
class DoubtsFinals(Protocol):
    """An optional ability of a recogniser: the second decode of a final in doubt can be asked for by itself. A server needs it
    for callers elsewhere, who know only later whether a final is wanted."""

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
        """`SttEngine.transcribe` without a second decode, or, where it is `thorough`, the second decode itself. Raises
        EngineError, and DecodeDropped for a second decode while others wait."""
        ...

    def doubts(self, heard: Hypothesis, duration_s: float) -> bool:
        """True if a second decode of a final may help. `duration_s` is the length of its audio."""
        ...
