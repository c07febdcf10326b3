"""Options of a language model that a server answers for."""

from __future__ import annotations

import msgspec


class OpenAiOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of a profile's `llm`."""

    base_url: str
    """Such as http://127.0.0.1:8000/v1; several servers of the same model, separated by commas."""
    served_model: str = ""
    """The model to ask for; empty: the first that the server lists."""
    api_key_env: str = "VOICEAGENT_LLM_API_KEY"
    temperature: float = 0.0
    max_tokens: int = 200
    first_token_timeout_s: float = 10.0
    """A server that has sent nothing for so long is given up, and another one asked."""
    inactivity_timeout_s: float = 3.0
    """A reply that has begun and gains neither text nor a tool call for so long is given up; what was said stays said."""
    total_timeout_s: float = 60.0
    """A reply that takes longer is ended there, as one that is too long is."""
    busy_generations: int = 32
    """With so many generations at a time nothing speculative is begun: the server has enough to do."""
    enable_thinking: bool | None = None
    """Given to the server's chat template where set."""
    thinks_first: bool = False
    """Every reply begins inside a thought that the server's template opened, and that the server passes on as text; `</think>`
    ends it. Without this setting the first such reply tells."""
    long_history_tokens: int | None = None
    """A conversation of more is too long for the model, by estimate, instructions and tools not counted: what an agent's
    `llm.long_history_tokens` is where the agent does not say. None: there is no such limit."""
    request: dict[str, object] = {}
    """Further fields of every request that the server knows, such as top_k or repetition_penalty."""

    @property
    def base_urls(self) -> list[str]:
        """The servers' addresses."""
        return [url.strip() for url in self.base_url.split(",") if url.strip()]
