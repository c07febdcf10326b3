"""The size of a vLLM server's KV cache, from its metrics. It is given in tokens, in older versions in blocks, which layers of
several kinds share. The longest sequence is in its list of models. Other servers do not report it."""

from __future__ import annotations

import re

from voiceagent.llm.engine import KvCapacity

_CONFIG = re.compile(r"^vllm:cache_config_info\{(?P<labels>.*)\} 1(?:\.0)?$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


def read_kv_capacity(metrics: str, longest_tokens: int | None) -> KvCapacity | None:
    """The cache that vLLM's `metrics` (Prometheus text) describe, for all its engines together. None if they describe none. A
    sequence is at most `longest_tokens` long, the model's `max_model_len`, if the server reports it."""
    tokens = 0
    for found in _CONFIG.finditer(metrics):
        labels = dict(_LABEL.findall(found["labels"]))
        size = labels.get("kv_cache_size_tokens", "")
        blocks, block_size = labels.get("num_gpu_blocks", ""), labels.get("block_size", "")
        if size.isdecimal():
            tokens += int(size)
        elif blocks.isdecimal() and block_size.isdecimal():
            tokens += int(blocks) * int(block_size)
        else:
            return None
    if not tokens:
        return None
    return KvCapacity(tokens, min(tokens, longest_tokens or tokens))
