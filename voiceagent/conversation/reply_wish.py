"""A client's wish for a reply: what differs from a reply that nobody asked for."""

from __future__ import annotations

from msgspec import Struct

from voiceagent.conversation.history import Message
from voiceagent.conversation.rules import ReplyRules


class ReplyWish(Struct, frozen=True):
    """The settings of one reply."""

    key: str = ""
    """The client's name for it."""
    instructions: str | None = None
    """The agent's instructions for this reply. None: its own."""
    rules: ReplyRules | None = None
    """None: the call's."""
    is_detached: bool = False
    """True if the reply is no part of the conversation."""
    input: tuple[Message, ...] | None = None
    """The messages that it answers. None: the conversation."""
