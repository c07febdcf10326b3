"""What a language model must offer to a call."""

from __future__ import annotations

import enum
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from voiceagent.conversation.history import Message, ToolCall
from voiceagent.json_types import JsonObject


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

ToolSchema = JsonObject
"""An OpenAI `{"type": "function", "function": {name, description, parameters}}` object."""


class Urgency(enum.IntEnum):
    """Who goes first where requests wait for each other; the lower, the sooner."""

    REPLY = 0
    """A caller waits for it."""
    SPECULATIVE = 1
    """It may be thrown away."""
    AHEAD = 2
    """Nobody waits for it: prefill, summing up."""


@dataclass(frozen=True, slots=True)
class HistoryLimits:
    """How long a conversation the model can be told. Tokens are estimated, as `estimated_tokens` does."""

    prompt_tokens: int | None = None
    """Of a whole prompt with instructions and tools; None where the engine cannot tell."""
    history_tokens: int | None = None
    """Of what was said alone, where the model does worse with more; None: there is no such limit."""


FULL_PROMPT = 0.8
"""An engine that knows how many tokens a prompt may have tells the turn engine this share of them, which counts by estimate."""


class LlmSession(Protocol):
    """One conversation with a language model. An engine may keep in it what was read of the last prompt, such as the KV cache."""

    def generate(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], urgency: Urgency = Urgency.REPLY
    ) -> AsyncGenerator[Generated, None]:
        """Answer `messages` (the first may be of role `system`). Closing the generator (`aclose`, or cancelling the
        task that iterates it) stops the computation at the next token and frees what it held. Raises EngineError."""
        ...

    async def prefill(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> None:
        """Read `messages`, whose last may go on growing, so that a generation that begins like them answers sooner. It gives way
        to all else; cancelling stops it. Raises EngineError."""
        ...

    async def ending_chance(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> float | None:
        """How likely, 0 to 1, the last message's words are followed by the end of a sentence or of the turn, rather than by more
        words; None where the engine cannot tell, or has better things to do. It reads what a generation that begins like
        `messages` reads anyway, and disturbs none; cancelling stops it. Raises EngineError."""
        ...

    async def close(self) -> None:
        """The conversation is over: end what runs for it and free what is kept for it. May be called twice."""
        ...


class LlmEngine(Protocol):
    """A language model shared by all calls of a server."""

    def open(self, call_id: str) -> LlmSession:
        """Begin a conversation; its owner closes it. `call_id` names it in logs."""
        ...

    @property
    def load(self) -> float:
        """How busy the engine is: 0 idle; from 1 on, what is asked now waits for others."""
        ...

    @property
    def limits(self) -> HistoryLimits:
        """How long a conversation may be. The turn engine shortens a longer one between turns; an engine leaves out turns only
        where a prompt does not fit at all."""
        ...

    @property
    def problems(self) -> Mapping[str, int]:
        """What went wrong and was made good, and how often; by a slug."""
        ...

    async def kv_capacity(self) -> KvCapacity | None:
        """How much memory there is for conversations; None when the engine cannot tell. Asked once, before the first call."""
        ...

    async def close(self) -> None:
        """Free the model and its threads or connections. Sessions that are still open generate nothing any more."""
        ...


def no_tools(engine: LlmEngine) -> str:
    """Why the engine's model cannot be given tools, in one line; empty where it can, or the engine does not say."""
    return str(getattr(engine, "no_tools", ""))
