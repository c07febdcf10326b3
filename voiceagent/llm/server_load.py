"""How busy a server is, by its own gauges. They are asked for rarely, one request at a time, and
never waited for: what is known is what the last answer said."""

from __future__ import annotations

import asyncio
import time

import httpx2

from voiceagent.llm.servers import Gauges

INTERVAL_S = 0.5
"""At most so often."""
TIMEOUT_S = 2.0
MAX_BYTES = 4_000_000
FULL_CACHE = 0.9
"""With so much of the KV cache in use, new requests soon push others out."""


def gauge(text: str, name: str) -> float | None:
    """A gauge in Prometheus' text format, summed over its labels; None where it is not there."""
    values = [line.rpartition(" ")[2] for line in text.splitlines() if line.startswith((f"{name}{{", f"{name} "))]
    try:
        return sum(map(float, values)) if values else None
    except ValueError:
        return None


def load_of(text: str, gauges: Gauges) -> float:
    """0 idle; from 1 on, what is asked now waits: others wait already, or the KV cache is nearly full."""
    waiting, usage = gauge(text, gauges.waiting) or 0.0, gauge(text, gauges.cache_usage) or 0.0
    return 1.0 + waiting if waiting else usage / FULL_CACHE


class ServerLoad:
    """Watches one server's gauges."""

    def __init__(self, base_url: str, gauges: Gauges, http: httpx2.AsyncClient) -> None:
        self._url = f"{base_url.rstrip('/').removesuffix('/v1')}/metrics"
        self._gauges = gauges
        self._http = http
        self._asked_s = 0.0
        self._asking: asyncio.Task[None] | None = None
        self.value = 0.0
        """As of the last answer; 0 where there is none."""
        self.failures = 0
        """Questions without an answer."""

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
        """Ask anew, if it is time to and no question is open."""
        now_s = time.monotonic()
        if now_s - self._asked_s >= INTERVAL_S and (self._asking is None or self._asking.done()):
            self._asked_s = now_s
            self._asking = asyncio.get_running_loop().create_task(self._ask())

    async def _ask(self) -> None:
        try:
            self.value = load_of(await self.text(), self._gauges)
        except (httpx2.HTTPError, TimeoutError):
            self.failures += 1
            self.value = 0.0

    async def close(self) -> None:
        """End the open question."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)
