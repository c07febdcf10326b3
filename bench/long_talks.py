"""The turn engine's work on a long talk between two turns, for benchmarks that have no turn engine."""

from __future__ import annotations

from collections.abc import Sequence

from voiceagent.conversation.history import Message, estimated_tokens, turn_border


def shortened(messages: Sequence[Message], most_tokens: int | None) -> list[Message]:
    """The talk without its older half where it is longer, by estimate; see `conversation.memory`. A system message in
    front is not counted."""
    first = 1 if messages and messages[0].role == "system" else 0
    spoken = messages[first:]
    if most_tokens is None or estimated_tokens(spoken) <= most_tokens:
        return list(messages)
    return [*messages[:first], *spoken[turn_border(spoken, 0.5) :]]
