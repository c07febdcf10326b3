"""Options of vLLM in this process."""

from __future__ import annotations

import msgspec


class VllmOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of a profile's `llm`."""

    context_tokens: int = 8192
    """Most tokens of prompt and reply together."""
    long_history_tokens: int | None = None
    """A conversation with more estimated tokens, without instructions and tools, is too long for the model. It is the default of
    an agent's `llm.long_history_tokens`. None: the model needs no such limit."""
    max_tokens: int = 200
    temperature: float = 0.0
    dtype: str = "auto"
    """`bfloat16`, `float16` or `float32`. `auto` is the model's own."""
    gpu_memory_utilization: float = 0.9
    """The share of the GPU's memory for weights and KV cache. Leave room if Whisper runs on the same GPU."""
    max_num_batched_tokens: int = 512
    """Most tokens per step. A step is never interrupted. With few tokens, a barge-in or another caller's reply need not wait for
    a long prompt."""
    max_num_seqs: int = 128
    """Most requests that are computed at a time."""
    busy_generations: int = 64
    """From this many generations at a time on, no speculative work begins."""
    enable_thinking: bool | None = None
    """Passed to the chat template if set."""
    tool_format: str = ""
    """The form of the model's tool calls, if its chat template does not show it."""
    speculative: dict[str, object] | None = None
    """vLLM's `speculative_config`, such as {method: ngram, num_speculative_tokens: 4, prompt_lookup_max: 4} or a draft model.
    Tokens are drafted cheaply and checked together."""
    sleep_after_s: float | None = None
    """After this time without a request the weights leave the GPU. The next request waits until they are back. None: never. GPUs
    only."""
    engine: dict[str, object] = {}
    """Further arguments of vLLM's `AsyncEngineArgs`, such as tensor_parallel_size or quantization."""
