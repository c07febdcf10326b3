"""What a language model must offer to a call."""

from __future__ import annotations

import enum
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from voiceagent.conversation.history import Message, ToolCall


@dataclass(frozen=True, slots=True)
class GeneratedText:
    """A piece of the reply's text, in order."""

    text: str


@dataclass(frozen=True, slots=True)
class Unfinished(Message):
    """The last message of a prompt: what another engine had said of the reply when it stopped. The reply goes on from there."""


@dataclass(frozen=True, slots=True)
class KvCapacity:
    """The KV cache that all calls share."""

    tokens: int
    """Of all calls together."""
    longest_tokens: int
    """What one call can take at most."""


Generated = GeneratedText | ToolCall
"""What a generation yields: text as it comes, tool calls only when complete."""

ToolSchema = dict[str, Any]
"""An OpenAI `{"type": "function", "function": {name, description, parameters}}` object."""


class Urgency(enum.IntEnum):
    """Who goes first where requests wait for each other; the lower, the sooner."""

    REPLY = 0
    """A caller waits for it."""
    SPECULATIVE = 1
    """It may be thrown away."""
    AHEAD = 2
    """Nobody waits for it: prefill, summing up."""


class LlmEngine(Protocol):
    """A language model shared by all calls of a server."""

    def generate(
        self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema], urgency: Urgency = Urgency.REPLY
    ) -> AsyncGenerator[Generated, None]:
        """Answer `messages` (the first may be of role `system`). Closing the generator (`aclose`, or cancelling the
        task that iterates it) stops the computation at the next token and frees what it held. `call_id` names the
        conversation, so that an engine may keep its KV cache from turn to turn. Raises EngineError."""
        ...

    async def prefill(self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> None:
        """Read `messages`, whose last may go on growing, so that a generation that begins like them answers sooner. It gives way
        to all else; cancelling stops it. Raises EngineError."""
        ...

    async def ending_chance(self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> float | None:
        """How likely, 0 to 1, the last message's words are followed by the end of a sentence or of the turn, rather than by more
        words; None where the engine cannot tell, or has better things to do. It reads what a generation that begins like
        `messages` reads anyway, and disturbs none; cancelling stops it. Raises EngineError."""
        ...

    @property
    def load(self) -> float:
        """How busy the engine is: 0 idle; from 1 on, what is asked now waits for others."""
        ...

    @property
    def problems(self) -> Mapping[str, int]:
        """What went wrong and was made good, and how often; by a slug."""
        ...

    async def kv_capacity(self) -> KvCapacity | None:
        """How much memory there is for conversations; None when the engine cannot tell. Asked once, before the first call."""
        ...

    async def forget(self, call_id: str) -> None:
        """The call is over: free what is kept for it. Unknown ids are fine."""
        ...

    async def close(self) -> None:
        """Free the model and its threads or connections."""
        ...


def no_tools(engine: LlmEngine) -> str:
    """Why the engine's model cannot be given tools, in one line; empty where it can, or the engine does not say."""
    return str(getattr(engine, "no_tools", ""))
