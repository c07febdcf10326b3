"""The load of a server, by its own gauges. They are read rarely, one request at a time, and nothing waits for them. The value is
that of the last answer.

The size of a vLLM server's KV cache, from its metrics. It is given in tokens, in older versions in blocks, which layers of
several kinds share. The longest sequence is in its list of models. Other servers do not report it."""

from __future__ import annotations

import asyncio
import re
import time

import httpx2

from voiceagent.llm.engine import KvCapacity
from voiceagent.llm.servers.dialects import Gauges
from voiceagent.task_owner import TaskOwner

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


INTERVAL_S = 0.5
"""The shortest interval between two requests."""
TIMEOUT_S = 2.0
MAX_BYTES = 4_000_000
FULL_CACHE = 0.9
"""Share of the KV cache in use from which on new requests soon push others out."""


def gauge(text: str, name: str) -> float | None:
    """A gauge in Prometheus' text format, summed over its labels. None if it is missing."""
    values = [line.rpartition(" ")[2] for line in text.splitlines() if line.startswith((f"{name}{{", f"{name} "))]
    try:
        return sum(map(float, values)) if values else None
    except ValueError:
        return None


def load_of(text: str, gauges: Gauges) -> float:
    """The load: 0 is idle; from 1 on, new requests wait, because others wait already or the KV cache is nearly full."""
    waiting = gauge(text, gauges.waiting) or 0.0
    usage = (gauge(text, gauges.cache_usage) if gauges.cache_usage else None) or 0.0
    return 1.0 + waiting if waiting else usage / FULL_CACHE


class ServerLoad:
    """Watches one server's gauges."""

    def __init__(self, base_url: str, gauges: Gauges, http: httpx2.AsyncClient) -> None:
        self._url = f"{base_url.rstrip('/').removesuffix('/v1')}/metrics"
        self._gauges = gauges
        self._http = http
        self._asked_s = 0.0
        self._asking = TaskOwner()
        self.value = 0.0
        """The load by the last answer. 0 if there is none."""
        self.failures = 0
        """Requests without an answer."""

    async def text(self) -> str:
        """The gauges as the server writes them. Raises httpx2.HTTPError."""
        async with asyncio.timeout(TIMEOUT_S), self._http.stream("GET", self._url) as answer:
            answer.raise_for_status()
            data = b""
            async for piece in answer.aiter_bytes():
                data += piece
                if len(data) > MAX_BYTES:
                    break
            return data.decode(errors="replace")

    def refresh(self) -> None:
        """Read the gauges again, if the interval has passed and no request is open."""
        now_s = time.monotonic()
        if now_s - self._asked_s >= INTERVAL_S and not self._asking:
            self._asked_s = now_s
            self._asking.start_alone(self._ask(), "load of a language model server")

    async def _ask(self) -> None:
        try:
            self.value = load_of(await self.text(), self._gauges)
        except (httpx2.HTTPError, TimeoutError):
            self.failures += 1
            self.value = 0.0

    async def close(self) -> None:
        """Cancel the open request."""
        await self._asking.close()
