"""The last resort if a prompt does not fit: its oldest turns are left out. The turn engine normally shortens a conversation long
before, by an estimate and between turns (`conversation.compaction`)."""

from __future__ import annotations

from collections.abc import Sequence

from voiceagent.conversation.history import Message, turn_border


class LeftOut:
    """Which turns of one conversation are left out of its prompts. They stay out, so that later prompts begin like earlier
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
    """Where the conversation begins: after the system message, if there is one."""
    return 1 if messages and messages[0].role == "system" else 0
