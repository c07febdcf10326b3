"""The interface of a turn judge: a pause in the caller's speech in, the chance that it is the end of their turn out. The judge
decides nothing: the turn engine weighs the judges' chances with what else it knows of the pause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from voiceagent.conversation.history import Message
from voiceagent.llm.engine import LlmSession, ToolSchema

MAX_AUDIO_S = 8
"""Length of the audio that is kept for the judges, the pause and the speech before it together."""


@dataclass(frozen=True, slots=True, eq=False)
class JudgedPause:
    """A pause as its judges get it."""

    audio: NDArray[np.int16]
    """Mono, 16 kHz, at most the last `MAX_AUDIO_S`; it ends with the pause so far."""
    words: str = ""
    """The utterance's words as recognised so far; empty while they are unknown."""
    messages: Sequence[Message] = ()
    """The prompt that the agent's language model would get; the last message is the caller's words."""
    tools: Sequence[ToolSchema] = ()
    """The tools that the prompt offers."""
    language_model: LlmSession | None = None
    """The call's conversation with the agent's language model, which has read most of the prompt by now."""


class TurnJudge(Protocol):
    """A judge shared by all calls of a server."""

    @property
    def name(self) -> str:
        """The key of its evidence: "ear", "meaning"."""
        ...

    @property
    def needs_words(self) -> bool:
        """True if it is asked when the words are known, instead of when the pause begins."""
        ...

    async def judge(self, pause: JudgedPause) -> float | None:
        """The chance, 0 to 1, that the caller has finished; None if it cannot tell. Cancelling it ends the wait. Raises
        EngineError."""
        ...

    @property
    def problems(self) -> Mapping[str, int]:
        """Counts of problems that occurred and were handled, by slug."""
        ...

    async def close(self) -> None:
        """Free the model and its threads."""
        ...
