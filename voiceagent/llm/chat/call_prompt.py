"""The prompts of one conversation as token ids. The part that a prompt shares with the one before is not tokenised again. When a
prompt does not fit, its older half is left out at once. So a prefix cache is invalidated only once in many turns.

The last resort if a prompt does not fit: its oldest turns are left out. The turn engine normally shortens a conversation long
before, by an estimate and between turns (`conversation.memory`)."""

from __future__ import annotations

import asyncio
import json
import threading
from bisect import bisect_left
from collections.abc import Sequence

from msgspec.structs import replace

from voiceagent.conversation.history import Message, turn_border
from voiceagent.errors import EngineError
from voiceagent.llm.chat.prompt import ChatPrompt
from voiceagent.llm.engine import ToolSchema

MOMENT_CHARACTERS = 4000
"""About two milliseconds of tokenising. Longer texts are tokenised in a thread."""
MOMENT_MESSAGES = 400
"""About two milliseconds of rendering the template."""
KEPT = 0.5
"""The share of the room for a conversation that is kept when it is shortened."""


class CallPrompt:
    """Keeps a conversation's last prompt, and which turns are left out."""

    def __init__(self, prompt: ChatPrompt, room: int) -> None:
        """A prompt may have `room` tokens."""
        self._prompt = prompt
        self._room = room
        self._head: tuple[list[Message], list[ToolSchema]] = ([], [])
        self._messages: Sequence[Message] = ()
        """The messages of the last prompt, with the turns that are left out."""
        self._kept: Sequence[Message] = ()
        """The same messages without those turns."""
        self._text = ""
        self._ids: list[int] = []
        self._borders: list[tuple[int, int]] = []
        """Places of control tokens: (character, index of the id). The tokenizer merges nothing across one."""
        self._left_out = LeftOut()
        self._lock = threading.Lock()

    @property
    def text(self) -> str:
        """The text of the last prompt."""
        return self._text

    async def ids_soon(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> list[int]:
        """See `ids`. Long work is done in a thread."""
        if self._lock.locked() or self._takes_long(messages, tools):
            return await asyncio.to_thread(self.ids, messages, tools)
        return self.ids(messages, tools)

    def ids(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> list[int]:
        """The prompt. The oldest turns are left out if it would not fit. Raises EngineError if the last turn alone does not
        fit."""
        with self._lock:
            return self._fitted(messages, tools)

    async def open_ids_soon(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> list[int]:
        """See `open_ids`. Long work is done in a thread."""
        if self._lock.locked() or self._takes_long(messages, tools):
            return await asyncio.to_thread(self.open_ids, messages, tools)
        return self.open_ids(messages, tools)

    def open_ids(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> list[int]:
        """The prompt of `ids` up to the last character of the last message, as if the message went on. Empty if the template
        hides that place. Raises EngineError."""
        with self._lock:
            self._fitted(messages, tools)
            text = self._prompt.open_text(self._kept, tools)
            if not text or not self._text.startswith(text):
                return []
            character, index = self._borders[bisect_left(self._borders, (len(text), 0)) - 1] if self._borders else (0, 0)
            return self._ids[:index] + self._prompt.encode(text[character:])[0]

    def _fitted(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> list[int]:
        self._head = (list(messages[: after_instructions(messages)]), list(tools))
        self._messages = list(messages)
        ids = self._encoded(self._left_out.kept(messages), tools)
        if len(ids) > self._room:
            ids = self._shortened(messages, tools, ids)
        return list(ids)

    def _takes_long(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> bool:
        """True if much must be tokenised: much text is new, an early message changed or is gone, or the prompt may have to be
        shortened."""
        if self._head != (list(messages[: after_instructions(messages)]), list(tools)):
            same, new = 0, len(json.dumps(tools))
        else:
            pairs = zip(self._messages, messages, strict=False)
            same = next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(self._messages), len(messages)))
            same, new = max(0, same - 1), 0  # the template may end the last message in another way
        new += sum(_characters(message) for message in messages[same:])
        if new > MOMENT_CHARACTERS or len(messages) > MOMENT_MESSAGES:
            return True
        tokens = len(self._ids) + new  # hardly more than one token per character
        return len(self._text) + new > MOMENT_CHARACTERS and tokens > self._room

    def _shortened(self, messages: Sequence[Message], tools: Sequence[ToolSchema], ids: list[int]) -> list[int]:
        """Leave out turns, oldest first, until the conversation takes its share of the room or one turn is left."""
        head_tokens = len(self._prompt.ids([*messages[: after_instructions(messages)], Message("user", "")], tools))
        wanted = head_tokens + KEPT * max(0, self._room - head_tokens)
        while len(ids) > wanted:
            excess = (len(ids) - wanted) / max(1, len(ids) - head_tokens)
            if not self._left_out.leave_out(messages, min(1.0, excess)):
                break
            ids = self._encoded(self._left_out.kept(messages), tools)
        if len(ids) > self._room:
            ids = self._encoded([replace(message, context=()) for message in self._left_out.kept(messages)], tools)
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


def _common_length(one: str, other: str) -> int:
    """The number of characters that both texts begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


class LeftOut:
    """The turns of one conversation that are left out of its prompts. They stay out, so that later prompts begin like earlier
    ones."""

    def __init__(self) -> None:
        self._count = 0
        self._last: Message | None = None

    def kept(self, messages: Sequence[Message]) -> list[Message]:
        """The conversation without these turns. If it no longer begins with them, nothing is left out."""
        first = after_instructions(messages)
        last = first + self._count - 1
        if self._count and (last >= len(messages) - 1 or messages[last] != self._last):
            self._count, self._last = 0, None
        return [*messages[:first], *messages[first + self._count :]]

    def leave_out(self, messages: Sequence[Message], share: float = 0.5) -> bool:
        """Leave out more turns: this share of the kept characters, at least one turn. Returns False if one turn is left."""
        first = after_instructions(messages)
        spoken = self.kept(messages)[first:]
        border = turn_border(spoken, share)
        if not border:
            return False
        self._count, self._last = self._count + border, spoken[border - 1]
        return True


def after_instructions(messages: Sequence[Message]) -> int:
    """The index where the conversation begins: after the system message, if there is one."""
    return 1 if messages and messages[0].role == "system" else 0
