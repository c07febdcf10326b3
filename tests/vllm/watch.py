"""What a vLLM server says of itself while requests come and go."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import aiohttp

from bench.vllm_server import VllmServer, read_metrics

RUNNING, WAITING = "vllm:num_requests_running", "vllm:num_requests_waiting"
HITS, QUERIES = "vllm:prefix_cache_hits_total", "vllm:prefix_cache_queries_total"


class Watch:
    """Asks for the server's metrics over one connection."""

    def __init__(self, server: VllmServer) -> None:
        self._url = f"{server.root}/metrics"
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(10))

    async def metrics(self) -> dict[str, float]:
        async with self._session.get(self._url) as answer:
            return read_metrics(await answer.text())

    async def until(self, holds: Callable[[dict[str, float]], bool], within_s: float = 30.0) -> float:
        """Ask again and again until it holds; after how many ms it was seen to. Raises TimeoutError."""
        began_s = time.monotonic()
        async with asyncio.timeout(within_s):
            while not holds(await self.metrics()):
                pass
        return (time.monotonic() - began_s) * 1000

    async def until_idle(self, within_s: float = 30.0) -> float:
        """Until the server has nothing to do; ms."""
        return await self.until(lambda m: m[RUNNING] == m[WAITING] == 0, within_s)

    async def close(self) -> None:
        await self._session.close()
