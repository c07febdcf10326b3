"""What is used of vLLM, an optional package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol


class PrefixCacheStats(Protocol):
    """`vllm.v1.metrics.stats.PrefixCacheStats`, of a step."""

    queries: int
    """Prompt tokens."""
    hits: int


class SchedulerStats(Protocol):
    """`vllm.v1.metrics.stats.SchedulerStats`."""

    num_waiting_reqs: int
    kv_cache_usage: float
    prefix_cache_stats: PrefixCacheStats


class Logprob(Protocol):
    """`vllm.logprobs.Logprob`."""

    logprob: float


class CompletionOutput(Protocol):
    """`vllm.outputs.CompletionOutput`."""

    text: str
    logprobs: Sequence[Mapping[int, Logprob]] | None
    """For each token, the likeliest in its place."""
