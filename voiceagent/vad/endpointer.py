"""Decides when the caller has finished. By silence alone here; the words so far are given too, for endpointers that
know an unfinished sentence when they see one."""

from __future__ import annotations

from typing import Literal, Protocol

from voiceagent.vad.detector import SpeechProgress

Decision = Literal["none", "eager", "endpoint"]
"""Go on listening; the caller may have finished (start work, commit nothing); the caller has finished."""


class Endpointer(Protocol):
    """One call's endpointer."""

    def decide(self, progress: SpeechProgress, words: str) -> Decision:
        """Judge the open utterance after each frame; `words` is its transcript so far. The answer may fall back
        from eager to none when speech resumes. After "endpoint" the next progress belongs to a new utterance."""
        ...


class SilenceEndpointer:
    """The utterance ends after `hold_ms` of silence; `eager_ms` of it is the guess before."""

    def __init__(self, hold_ms: float, eager_ms: float | None = None) -> None:
        """`eager_ms` defaults to two fifths of the hold, at most 200 ms."""
        self.hold_ms = hold_ms
        self.eager_ms = min(200.0, hold_ms * 0.4) if eager_ms is None else min(eager_ms, hold_ms)

    def decide(self, progress: SpeechProgress, words: str) -> Decision:
        """Compare the silence with both limits."""
        if progress.silence_ms >= self.hold_ms:
            return "endpoint"
        return "eager" if progress.silence_ms >= self.eager_ms else "none"
