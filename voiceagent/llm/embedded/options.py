"""Options of the embedded language model."""

from __future__ import annotations

import msgspec

from voiceagent.llm.embedded.steps import LONGEST_DRAFT


class EmbeddedOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of a profile's `llm`."""

    threads: int = 1
    context_tokens: int = 2048
    """Most tokens of prompt and reply together."""
    long_history_tokens: int | None = None
    """A conversation with more estimated tokens, without instructions and tools, is too long for the model. It is the default of
    an agent's `llm.long_history_tokens`. None: the model needs no such limit."""
    max_tokens: int = 200
    temperature: float = 0.0
    draft_tokens: int = LONGEST_DRAFT
    """Most tokens drafted per step. Drafts need a model whose graph can check them, and `temperature` 0."""
    max_sessions: int = 64
    """How many calls' KV caches are kept. Beyond that the one unused for longest is freed."""
    enable_thinking: bool | None = None
    """Passed to the chat template if set."""
    tool_format: str = ""
    """The form of the model's tool calls, if its chat template does not show it."""
