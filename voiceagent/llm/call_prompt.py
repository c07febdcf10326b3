"""One call's prompts as token ids. A conversation only grows, so what a prompt shares with the one before is not tokenised again;
where it no longer fits its older half is left out at once: a cache of what was read is invalidated once in many turns."""

from __future__ import annotations

import asyncio
import json
import threading
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from voiceagent.conversation.history import Message
from voiceagent.errors import EngineError
from voiceagent.llm.engine import ToolSchema
from voiceagent.llm.prompt import ChatPrompt

AHEAD = 0.8
"""Of the room: a prompt that has grown beyond it is long."""
MOMENT_CHARACTERS = 4000
"""So many are tokenised in two milliseconds or so; more of them are left to a thread."""
MOMENT_MESSAGES = 400
"""So many are put into the template in two milliseconds or so."""
KEPT = 0.5
"""Of the tokens that a conversation may have, so many stay when it is shortened."""


class CallPrompt:
    """Keeps a call's last prompt, and how many of its messages are left out by now."""

    def __init__(self, prompt: ChatPrompt, room: int, long: int | None = None) -> None:
        """A prompt may have `room` tokens. A conversation of more than `long`, instructions and tools not counted, is shortened
        where nobody waits, so that a prompt that is waited for need not be."""
        self._prompt = prompt
        self._room = room
        self._long = long or room
        self._head: tuple[list[Message], list[ToolSchema]] = ([], [])
        self._head_tokens = 0
        self._messages: Sequence[Message] = ()
        """Of the last prompt, what is left out by now included."""
        self._kept: Sequence[Message] = ()
        """And without."""
        self._text = ""
        self._ids: list[int] = []
        self._borders: list[tuple[int, int]] = []
        """Where control tokens stand: (character, index of the id). Nothing is ever merged across one."""
        self._left_out = 0
        self._last_left_out: Message | None = None
        self._lock = threading.Lock()

    async def ids_soon(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], *, ahead: bool = False, more_tokens: int = 0
    ) -> list[int]:
        """See `ids`; what takes more than a moment is done in a thread."""
        if self._lock.locked() or self._takes_long(messages, tools, ahead, more_tokens):
            return await asyncio.to_thread(self.ids, messages, tools, ahead=ahead, more_tokens=more_tokens)
        return self.ids(messages, tools, ahead=ahead, more_tokens=more_tokens)

    def ids(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], *, ahead: bool = False, more_tokens: int = 0
    ) -> list[int]:
        """The prompt, without the oldest turns where it would not fit; with `ahead`, where it soon would not, being longer by
        `more_tokens`. Raises EngineError when even the last turn does not fit."""
        with self._lock:
            return self._fitted(messages, tools, ahead, more_tokens)

    async def open_ids_soon(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> list[int]:
        """See `open_ids`; what takes more than a moment is done in a thread."""
        if self._lock.locked() or self._takes_long(messages, tools, ahead=False, more_tokens=0):
            return await asyncio.to_thread(self.open_ids, messages, tools)
        return self.open_ids(messages, tools)

    def open_ids(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> list[int]:
        """The prompt as `ids` has it, but only up to the last character of the last message, as if that went on; empty where the
        template hides where that is. Raises EngineError."""
        with self._lock:
            self._fitted(messages, tools, ahead=False, more_tokens=0)
            text = self._prompt.open_text(self._kept, tools)
            if not text or not self._text.startswith(text):
                return []
            character, index = self._borders[bisect_left(self._borders, (len(text), 0)) - 1] if self._borders else (0, 0)
            return self._ids[:index] + self._prompt.encode(text[character:])[0]

    def _fitted(self, messages: Sequence[Message], tools: Sequence[ToolSchema], ahead: bool, more_tokens: int) -> list[int]:
        first = 1 if messages and messages[0].role == "system" else 0
        if not self._still_left_out(messages, first):
            self._left_out, self._last_left_out = 0, None
        self._count_head(messages[:first], tools)
        kept = [*messages[:first], *messages[first + self._left_out :]]
        self._messages = list(messages)
        ids = self._encoded(kept, tools)
        if len(ids) + more_tokens > (self._limit if ahead else self._room):
            ids = self._shortened(messages, first, tools, ids)
        return list(ids)

    def _takes_long(self, messages: Sequence[Message], tools: Sequence[ToolSchema], ahead: bool, more_tokens: int) -> bool:
        """Whether much of the prompt is to be tokenised: much is new, a message far back is another or gone, or the prompt may
        have to be shortened."""
        first = 1 if messages and messages[0].role == "system" else 0
        if self._head != (list(messages[:first]), list(tools)):
            same, new = 0, len(json.dumps(tools))
        else:
            pairs = zip(self._messages, messages, strict=False)
            same = next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(self._messages), len(messages)))
            same, new = max(0, same - 1), 0  # where the template ends the last message otherwise
        new += sum(_characters(message) for message in messages[same:])
        if new > MOMENT_CHARACTERS or len(messages) - self._left_out > MOMENT_MESSAGES:
            return True
        tokens = len(self._ids) + new + more_tokens  # hardly more than one a character
        return len(self._text) + new > MOMENT_CHARACTERS and tokens > (self._limit if ahead else self._room)

    def is_full(self, more_tokens: int) -> bool:
        """Whether the next prompt, longer than the last by so many tokens, will be shortened."""
        return len(self._ids) + more_tokens > self._limit

    @property
    def _limit(self) -> int:
        """The tokens from which on a prompt is long."""
        return min(int(self._room * AHEAD), self._head_tokens + self._long)

    def _count_head(self, head: Sequence[Message], tools: Sequence[ToolSchema]) -> None:
        """How many tokens every prompt begins with, whatever is said."""
        if not self._head_tokens or self._head != (list(head), list(tools)):
            self._head = (list(head), list(tools))
            self._head_tokens = len(self._prompt.ids([*head, Message("user", "")], tools))

    def _still_left_out(self, messages: Sequence[Message], first: int) -> bool:
        """Whether what was left out is still the conversation's beginning."""
        last = first + self._left_out - 1
        return not self._left_out or (last < len(messages) - 1 and messages[last] == self._last_left_out)

    def _shortened(self, messages: Sequence[Message], first: int, tools: Sequence[ToolSchema], ids: list[int]) -> list[int]:
        """Leave out turns, oldest first, until the prompt takes no more than its share of the room, or one turn is left."""
        borders = [index for index, message in enumerate(messages) if message.role == "user" and index > first + self._left_out]
        wanted = self._head_tokens + KEPT * max(0, self._limit - self._head_tokens)
        while len(ids) > wanted and borders:
            excess = (len(ids) - wanted) / max(1, len(ids) - self._head_tokens)
            at = _after(messages, first + self._left_out, excess)
            border = borders[min(bisect_left(borders, at), len(borders) - 1)]
            borders = [later for later in borders if later > border]
            self._left_out, self._last_left_out = border - first, messages[border - 1]
            ids = self._encoded([*messages[:first], *messages[border:]], tools)
        if len(ids) > self._room:
            bare = [replace(message, context=()) for message in (*messages[:first], *messages[first + self._left_out :])]
            ids = self._encoded(bare, tools)
        if len(ids) > self._room:
            raise EngineError(f"a turn of {len(ids)} tokens does not fit into the context of {self._room}; raise context_tokens")
        return ids

    def _encoded(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> list[int]:
        text = self._prompt.text(messages, tools)
        same = _common_length(self._text, text)
        borders = self._borders[: bisect_left(self._borders, (same + 1, 0))]
        character, index = borders[-1] if borders else (0, 0)
        more, found = self._prompt.encode(text[character:])
        self._ids = self._ids[:index] + more
        self._borders = [*borders[:-1], *((character + offset, index + number) for offset, number in found)]
        self._text, self._kept = text, messages
        return self._ids


def _characters(message: Message) -> int:
    return len(message.prompted) + sum(len(call.arguments) for call in message.tool_calls)


def _after(messages: Sequence[Message], start: int, share: float) -> int:
    """The index from `start` on before which the messages hold this share of the characters."""
    lengths = [_characters(message) for message in messages[start:]]
    wanted, seen = share * sum(lengths), 0
    for number, length in enumerate(lengths):
        if seen >= wanted:
            return start + number
        seen += length
    return len(messages)


def _common_length(one: str, other: str) -> int:
    """How many characters both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
