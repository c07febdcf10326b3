"""Options of the embedded language model."""

from __future__ import annotations

import msgspec

from voiceagent.llm.embedded_steps import LONGEST_DRAFT


class EmbeddedOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of a profile's `llm`."""

    threads: int = 1
    context_tokens: int = 2048
    """Prompt and reply together."""
    long_history_tokens: int | None = None
    """A conversation of more is too long for the model, by estimate, instructions and tools not counted: what an agent's
    `llm.long_history_tokens` is where the agent does not say. None: it may fill the context."""
    max_tokens: int = 200
    temperature: float = 0.0
    draft_tokens: int = LONGEST_DRAFT
    """So many are drafted at most and read in one step with what is known, where the model's graph tells whether they are right
    and `temperature` is 0."""
    max_sessions: int = 64
    """Calls whose KV cache is kept; beyond that the longest unused is freed."""
    enable_thinking: bool | None = None
    """Given to the chat template where set."""
    tool_format: str = ""
    """How the model writes tool calls, where its chat template does not tell."""
