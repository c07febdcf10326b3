"""A prompt as the language model got it, for an operator who asks to see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from voiceagent.conversation.history import Message
from voiceagent.llm.engine import TokenCount, ToolSchema


@dataclass(frozen=True, slots=True)
class SentPrompt:
    """The prompt of one generation."""

    reply_id: int
    is_speculative: bool
    """True for a reply that was begun in a pause of the caller. It may have been discarded."""
    messages: Sequence[Message]
    tools: Sequence[ToolSchema]
    must_call: str
    """See `ReplyRules.must_call`."""
    text: str
    """The text that the model's chat template made of it. Empty if a server applies the template."""
    count: TokenCount
    """The tokens; 0 where the engine does not tell, or nobody waited for its end."""
