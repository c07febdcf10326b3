"""Options of vLLM in this process."""

from __future__ import annotations

import msgspec


class VllmOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of a profile's `llm`."""

    context_tokens: int = 8192
    """Prompt and reply together."""
    long_history_tokens: int | None = None
    """A conversation of more is too long for the model, by estimate, instructions and tools not counted: what an agent's
    `llm.long_history_tokens` is where the agent does not say. None: it may fill the context."""
    max_tokens: int = 200
    temperature: float = 0.0
    dtype: str = "auto"
    """`bfloat16`, `float16`, `float32`; `auto` is the model's own."""
    gpu_memory_utilization: float = 0.9
    """Share of the GPU that vLLM takes for weights and KV cache. Leave room where Whisper runs on the same GPU."""
    max_num_batched_tokens: int = 512
    """Tokens a step. A step is never interrupted: with few, a barge-in or another caller's reply waits for no long prompt."""
    max_num_seqs: int = 128
    """Requests that are computed at a time."""
    busy_generations: int = 64
    """With so many generations at a time nothing speculative is begun."""
    enable_thinking: bool | None = None
    """Given to the chat template where set."""
    tool_format: str = ""
    """How the model writes tool calls, where its chat template does not tell."""
    speculative: dict[str, object] | None = None
    """vLLM's `speculative_config`, such as {method: ngram, num_speculative_tokens: 4, prompt_lookup_max: 4} or a draft model:
    tokens drafted cheaply and checked together."""
    sleep_after_s: float | None = None
    """Without a request for so long the weights leave the GPU; the next request waits for them. None: never. GPUs only."""
    engine: dict[str, object] = {}
    """Further arguments of vLLM's `AsyncEngineArgs`, such as tensor_parallel_size or quantization."""
