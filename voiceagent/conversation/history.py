"""The conversation as the language model reads it: messages. The text of an assistant's message is what the caller heard."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from voiceagent.untrusted_json import read_loose_json

Role = Literal["system", "user", "assistant", "tool"]

ASCII = 0.25
"""Tokens a character: four characters of English are about one token."""
CYRILLIC = 0.5
OTHERS = 1.0
"""All other scripts, and Latin letters with accents. Measured on Qwen 3, Llama 3.1 and Gemma 3: 0.3 to 1.0 for Greek, Hebrew,
Arabic, Devanagari, Thai, Han, Kana and Hangul. A tokenizer that was made for English alone takes up to 2.2 for these."""
_NOT_CYRILLIC = re.compile("[^\u0400-\u052f]+")


class ToolCall(Struct, frozen=True):
    """A tool call inside an assistant message. `arguments` is a JSON object as text."""

    call_id: str
    name: str
    arguments: str


class Chunk(Struct, frozen=True):
    """A piece of a document that may help to answer."""

    source: str
    """The document's name, and a heading."""
    text: str


class Message(Struct, frozen=True):
    """One message. For `assistant`, `content` holds the words that the caller heard, and `interrupted` says that there were
    more."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    interrupted: bool = False
    context: tuple[Chunk, ...] = ()
    """The chunks found for a user's message, in the order of the prompt."""
    context_head: str = ""
    """The line in front of the chunks."""

    @property
    def prompted(self) -> str:
        """The text that the language model reads. The context comes first, so that the beginning stays the same while words are
        added."""
        if not self.context:
            return self.content
        notes = "\n\n".join(f"[{chunk.source}]\n{chunk.text}" for chunk in self.context)
        return "\n\n".join(part for part in (self.context_head, notes, self.content) if part)


def tokens_of(text: str) -> float:
    """Estimate how many tokens a text takes. Only the language model's tokenizer knows: the same text takes up to five times as
    many tokens with one as with another, most of all if its script is not Latin. The estimate is rather too high than too low."""
    if text.isascii():
        return ASCII * len(text)
    ascii_characters = len(text.encode("ascii", "ignore"))
    cyrillic = len(_NOT_CYRILLIC.sub("", text))
    return ASCII * ascii_characters + CYRILLIC * cyrillic + OTHERS * (len(text) - ascii_characters - cyrillic)


def estimated_tokens(messages: Sequence[Message]) -> float:
    """Estimate how many tokens the messages take, without a tokenizer. See `tokens_of`."""
    return sum(
        tokens_of(message.prompted) + sum(tokens_of(call.arguments) for call in message.tool_calls) for message in messages
    )


def turn_border(messages: Sequence[Message], share: float) -> int:
    """The border before which at least this share (0 to 1) of the messages' characters lies. It is the index of the user's
    message with which a turn begins. If no turn reaches the share, it is the last turn's. If there is only one turn, it is 0."""
    left, border = share * estimated_tokens(messages), 0
    for index, message in enumerate(messages):
        if index and message.role == "user":
            border = index
            if left <= 0:
                break
        left -= estimated_tokens((message,))
    return border


def read_arguments(text: str) -> dict[str, object] | None:
    """A tool call's arguments. None if the text is no JSON object, or nests too deep."""
    try:
        given = read_loose_json(text or "{}")
    except ValueError:
        return None
    return given if isinstance(given, dict) else None
