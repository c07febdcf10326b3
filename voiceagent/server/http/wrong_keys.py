"""Counts wrong keys, and slows who sends them."""

from __future__ import annotations

import asyncio
import logging

from voiceagent.server.http.slowing import Slowing
from voiceagent.server.monitoring.metrics import Metrics

log = logging.getLogger(__name__)

LOG_EVERY_S = 10.0


class WrongKeys:
    """Counts them, and makes their senders wait."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._slowing = Slowing()
        self._logged_s = float("-inf")

    async def given(self, address: str) -> bool:
        """A wrong key came from `address`. See `Slowing.refused`."""
        self._metrics.wrong_keys += 1
        now_s = asyncio.get_running_loop().time()
        if now_s - self._logged_s >= LOG_EVERY_S:
            self._logged_s = now_s
            log.warning("a wrong key from %s (%d wrong keys so far)", address, self._metrics.wrong_keys)
        return await self._slowing.refused(address)
