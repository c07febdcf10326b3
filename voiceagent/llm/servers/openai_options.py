"""Options of a language model on a server."""

from __future__ import annotations

import msgspec


class OpenAiOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of a profile's `llm`."""

    base_url: str
    """An address such as http://127.0.0.1:8000/v1, or those of several servers of the same model, separated by commas."""
    served_model: str = ""
    """The model's name. Empty: the first that the server lists."""
    api_key_env: str = "VOICEAGENT_LLM_API_KEY"
    temperature: float = 0.0
    max_tokens: int = 200
    first_token_timeout_s: float = 10.0
    """After this time without a token, the server is given up and another one is asked."""
    inactivity_timeout_s: float = 3.0
    """After this time without more text or a tool call, a reply that has begun is given up. What was said stays said."""
    total_timeout_s: float = 60.0
    """A longer reply is cut off there, like one with too many tokens."""
    busy_generations: int = 32
    """From this many generations at a time on, no speculative work begins."""
    enable_thinking: bool | None = None
    """Passed to the server's chat template if set."""
    thinks_first: bool = False
    """Whether every reply begins inside a thought that the server's template opened and the server passes on as text, up to
    `</think>`. Without this setting it is learned from the first such reply."""
    long_history_tokens: int | None = None
    """A conversation with more estimated tokens, without instructions and tools, is too long for the model. It is the default of
    an agent's `llm.long_history_tokens`. None: the model needs no such limit."""
    request: dict[str, object] = {}
    """Further fields of every request that the server knows, such as top_k or repetition_penalty."""

    @property
    def base_urls(self) -> list[str]:
        """The servers' addresses."""
        return [url.strip() for url in self.base_url.split(",") if url.strip()]
