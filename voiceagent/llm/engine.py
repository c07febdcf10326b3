"""The interface of a language model."""

from __future__ import annotations

import enum
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

from voiceagent.conversation.history import Message, ToolCall
from voiceagent.json_types import JsonObject


@dataclass(frozen=True, slots=True)
class GeneratedText:
    """A piece of the reply's text, in order."""

    text: str


class Unfinished(Message, frozen=True):
    """The last message of a prompt, if another engine stopped in the middle of the reply: what it had said. The reply goes on
    from there."""


@dataclass(frozen=True, slots=True)
class KvCapacity:
    """The KV cache that all calls share."""

    tokens: int
    """Most tokens of all calls together."""
    longest_tokens: int
    """Most tokens of one call."""
    is_servers: bool = False
    """True if it is that of a server which other processes may ask, too."""


@dataclass(frozen=True, slots=True)
class Thought:
    """A sign of life: the model thinks, or writes a tool call. It comes about once a second, and nothing of what was written is
    told."""

    tokens: int
    """Pieces written since the last one."""


@dataclass(frozen=True, slots=True)
class Lull:
    """Nothing has come for a moment, or no text will come for a while, because the model thinks again or writes a tool call. Text
    that waits only for more text may be passed on."""

    writes_call: bool = False
    """True if the model has begun to write a tool call. The text before it is complete."""


@dataclass(frozen=True, slots=True)
class TokenCount:
    """The tokens of a generation, as the engine counted them. It comes last."""

    prompt: int
    generated: int
    cached: int | None = None
    """Tokens of the prompt that were not read again. None if the engine does not tell."""


Generated = GeneratedText | ToolCall | Thought | Lull | TokenCount
"""The pieces that a generation yields. Text comes in pieces; tool calls come complete. The others need not be yielded."""

ToolSchema = JsonObject
"""An OpenAI `{"type": "function", "function": {name, description, parameters}}` object."""


class Urgency(enum.IntEnum):
    """The order of requests that wait for each other. Lower values go first."""

    REPLY = 0
    """A caller waits for it."""
    SPECULATIVE = 1
    """It may be discarded."""
    AHEAD = 2
    """Nothing waits for it: prefill, summaries."""


@dataclass(frozen=True, slots=True)
class HistoryLimits:
    """Limits of a conversation's length. Tokens are estimated as in `estimated_tokens`."""

    prompt_tokens: int | None = None
    """Limit of a whole prompt with instructions and tools. None if the engine does not know it."""
    history_tokens: int | None = None
    """Limit of the conversation alone, if the model gets worse with longer ones. None: no such limit."""


FULL_PROMPT = 0.8
"""An engine that knows the most tokens of a prompt gives the turn engine this share of them as the limit, because the turn engine
only estimates."""


class LlmSession(Protocol):
    """One conversation with a language model. An engine may keep data of the last prompt in it, such as the KV cache."""

    def generate(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], urgency: Urgency = Urgency.REPLY, must_call: str = ""
    ) -> AsyncGenerator[Generated, None]:
        """Answer `messages`. The first one may have the role `system`. The answer is a call of the tool `must_call`, one of
        `tools`, or of any if that is ANY_TOOL (`conversation.rules`). It is given only to an engine that can do that
        (`no_forcing`). Closing the generator (`aclose`, or cancelling the task that iterates it) stops the computation at the
        next token and frees its resources. Raises EngineError."""
        ...

    async def prefill(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> None:
        """Read `messages`, whose last one may still grow, so that a generation with the same beginning answers sooner. It has the
        lowest priority; cancelling stops it. Raises EngineError."""
        ...

    async def ending_chance(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> float | None:
        """The probability, 0 to 1, that the last message's words are followed by the end of a sentence or of the turn, and not by
        more words. None if the engine cannot tell or is busy. It reads only what a generation with the same beginning would read,
        and delays none. Cancelling stops it. Raises EngineError."""
        ...

    async def close(self) -> None:
        """The conversation is over. Stop its work and free its resources. May be called twice."""
        ...


class LlmEngine(Protocol):
    """A language model shared by all calls of a server."""

    def open(self, call_id: str) -> LlmSession:
        """Open a session for a conversation. Its owner closes it. `call_id` is its name in logs."""
        ...

    @property
    def load(self) -> float:
        """The load of the engine. 0 is idle; from 1 on, new requests wait for others."""
        ...

    @property
    def limits(self) -> HistoryLimits:
        """Limits of a conversation's length. The turn engine shortens a longer one between turns. An engine leaves out turns only
        if a prompt does not fit at all."""
        ...

    @property
    def problems(self) -> Mapping[str, int]:
        """Counts of problems that the engine solved itself, by a slug."""
        return {}

    async def kv_capacity(self) -> KvCapacity | None:
        """The memory for conversations. None if the engine does not know it. Asked once, before the first call."""
        ...

    async def close(self) -> None:
        """Free the model and its threads or connections. Open sessions generate nothing more."""
        ...


async def written(
    engine: LlmEngine,
    name: str,
    messages: Sequence[Message],
    urgency: Urgency,
    most_characters: int,
    plain: Callable[[str], str] = str,
) -> str:
    """One text, such as a summary, of a session of its own, which is called `name` in logs. No tools are offered. `plain` turns
    each piece into the text that counts. The model is stopped once `most_characters` are there; a last piece may exceed them.
    Raises EngineError."""
    session, text = engine.open(name), ""
    try:
        async with aclosing(session.generate(messages, (), urgency)) as stream:
            async for piece in stream:
                if isinstance(piece, GeneratedText):
                    text += plain(piece.text)
                if len(text) > most_characters:
                    break
    finally:
        await session.close()
    return text


def prompt_text(session: LlmSession) -> str:
    """The text that the model's chat template made of the session's last prompt. Empty if the session does not know it."""
    return str(getattr(session, "prompt_text", ""))


def no_tools(engine: LlmEngine) -> str:
    """The reason why the engine's model cannot be given tools, in one line. Empty if it can, or if the engine reports none."""
    return str(getattr(engine, "no_tools", ""))


def forced_call(must_call: str) -> dict[str, str]:
    """The arguments of `LlmSession.generate` for an answer that must be a call. Engines that cannot do that need not have it."""
    return {"must_call": must_call} if must_call else {}


def no_forcing(engine: LlmEngine) -> str:
    """The reason why the engine's model cannot be made to call a tool, in one line. Empty if it can; an engine says so itself."""
    return no_tools(engine) or str(getattr(engine, "no_forcing", "its engine cannot make a language model call a tool"))


async def check(engine: LlmEngine) -> None:
    """Look whether the model can answer, if the engine has a method `check` for it. That costs the model nothing: it asks
    whether its server is up, takes the key and has the model. Raises EngineError if it can't answer."""
    look = getattr(engine, "check", None)
    if look is not None:
        await look()
