"""What is used of the results of CTranslate2's Whisper, which has no types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class GenerationResult(Protocol):
    """`ctranslate2.models.WhisperGenerationResult`: hypotheses, the best one first."""

    sequences_ids: Sequence[Sequence[int]]
    scores: Sequence[float]
    """Mean log probabilities."""
    no_speech_prob: float


class Alignment(Protocol):
    """`ctranslate2.models.WhisperAlignmentResult`."""

    alignments: Sequence[tuple[int, int]]
    """Pairs of a token's index and a position in the audio."""
    text_token_probs: Sequence[float]
