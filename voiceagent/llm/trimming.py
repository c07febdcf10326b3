"""What to leave out of a conversation that is long, or that a server finds too long: its older half, turn by turn. What was left
out stays out, so that the prompts that follow go on growing from one beginning."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from voiceagent.conversation.history import Message, estimated_tokens

MAX_CALLS = 4096


class Trimming:
    """How much of each call's conversation is left out by now."""

    def __init__(self, long_tokens: int | None = None) -> None:
        """A conversation of more than `long_tokens`, by estimate and without the instructions, is long; None: none is."""
        self._long_tokens = long_tokens
        self._left_out: OrderedDict[str, tuple[int, Message]] = OrderedDict()
        """By call: how many messages, and the last of them."""

    def fitted(self, call_id: str, messages: Sequence[Message]) -> list[Message]:
        """The conversation without what is left out of it."""
        kept = self._kept(call_id, messages)
        if self._long_tokens is None or estimated_tokens(kept[_after_instructions(kept) :]) <= self._long_tokens:
            return kept
        self.shorten(call_id, messages)
        return self._kept(call_id, messages)

    def _kept(self, call_id: str, messages: Sequence[Message]) -> list[Message]:
        first = _after_instructions(messages)
        count, last = self._left_out.get(call_id, (0, None))
        if not count or first + count >= len(messages) or messages[first + count - 1] != last:
            return list(messages)
        return [*messages[:first], *messages[first + count :]]

    def shorten(self, call_id: str, messages: Sequence[Message]) -> bool:
        """Leave out the older half of what is still said of it. False when only one turn is left."""
        first = _after_instructions(messages)
        kept = self._kept(call_id, messages)
        left_out = len(messages) - len(kept)
        turns = [index for index, message in enumerate(messages) if message.role == "user" and index > first + left_out]
        if not turns:
            return False
        middle = first + left_out + (len(messages) - first - left_out) // 2
        border = next((turn for turn in turns if turn >= middle), turns[-1])
        self._left_out[call_id] = (border - first, messages[border - 1])
        self._left_out.move_to_end(call_id)
        while len(self._left_out) > MAX_CALLS:
            self._left_out.popitem(last=False)
        return True

    def forget(self, call_id: str) -> None:
        """The call is over."""
        self._left_out.pop(call_id, None)


def _after_instructions(messages: Sequence[Message]) -> int:
    return 1 if messages and messages[0].role == "system" else 0
