"""The conversation as the language model is told it: messages, where an assistant's text is what was heard."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from voiceagent.conversation.nesting import nests_deeper

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call inside an assistant message. `arguments` is a JSON object as text."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document that may help to answer."""

    source: str
    """Where it stands: a document's name, and a heading."""
    text: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message. For `assistant`, `content` holds the words that were heard; `interrupted` says there were more."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    interrupted: bool = False
    context: tuple[Chunk, ...] = ()
    """What was found for a user's message, in the order in which it was prompted."""
    context_head: str = ""
    """Stands in front of that."""
    stands_in: bool = False
    """Whether a tool still runs, and `content` stands in for its result."""

    @property
    def prompted(self) -> str:
        """What the language model reads: the context in front, so that the beginning stays the same while words are added."""
        if not self.context:
            return self.content
        notes = "\n\n".join(f"[{chunk.source}]\n{chunk.text}" for chunk in self.context)
        return "\n\n".join(part for part in (self.context_head, notes, self.content) if part)


CHARACTERS_PER_TOKEN = 4
"""About so many in English; the true tokens are the language model's."""


def estimated_tokens(messages: Sequence[Message]) -> float:
    """What messages take of a prompt, without a tokenizer."""
    characters = sum(len(message.prompted) + sum(len(call.arguments) for call in message.tool_calls) for message in messages)
    return characters / CHARACTERS_PER_TOKEN


def turn_border(messages: Sequence[Message], share: float) -> int:
    """Where the first turn begins that has at least this share, 0 to 1, of the messages' characters before it: the index of its
    user's message. The last turn's where no turn has; 0 where there is one turn only."""
    left, border = share * estimated_tokens(messages), 0
    for index, message in enumerate(messages):
        if index and message.role == "user":
            border = index
            if left <= 0:
                break
        left -= estimated_tokens((message,))
    return border


def read_arguments(text: str) -> dict[str, object] | None:
    """A tool call's arguments; None where the text is no JSON object, however wrong it is, or nests too deep to be looked at."""
    try:
        given = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return None
    return given if isinstance(given, dict) and not nests_deeper(given) else None
