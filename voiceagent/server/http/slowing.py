"""Makes guessing slow. An address that was refused a few times waits for each further refusal. Correct keys and webhooks never
wait, because others may share the address: a proxy, an office, a telephone vendor."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass

from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.token_bucket import TokenBucket

AT_ONCE = 5.0
"""The number of refusals that an address gets at once."""
FORGIVEN_PER_S = 0.1
"""The number of refusals that are forgotten in a second."""
PAUSE_S = 1.0
"""The time that a further refusal takes."""
MAX_ADDRESSES = 1024


@dataclass(frozen=True, slots=True)
class RefusalLimits:
    """The limits of the refusals that wait."""

    pause_s: float = PAUSE_S
    waiting: int = 64
    """The most refusals that may wait at a time. Other clients are asked to come back later. `Connections.wait_s` limits the
    refusals that an address gets."""


REFUSAL_LIMITS = RefusalLimits()


class Slowing:
    """Counts the refusals of each address."""

    def __init__(self, limits: RefusalLimits = REFUSAL_LIMITS) -> None:
        self._limits = limits
        self._by_address: OrderedDict[str, TokenBucket] = OrderedDict()
        self._waiting = 0

    async def refused(self, address: str) -> bool:
        """Wait until a refusal of `address` may be answered. Returns False if the client is to be asked to come back later."""
        if self._bucket(address).take(1.0, asyncio.get_running_loop().time()):
            return True
        if self._waiting >= self._limits.waiting:
            return False
        self._waiting += 1
        try:
            await asyncio.sleep(self._limits.pause_s)
        finally:
            self._waiting -= 1
        return True

    def _bucket(self, address: str) -> TokenBucket:
        bucket = self._by_address.pop(address, None) or TokenBucket(FORGIVEN_PER_S, AT_ONCE)
        self._by_address[address] = bucket
        while len(self._by_address) > MAX_ADDRESSES:
            self._by_address.popitem(last=False)
        return bucket


log = logging.getLogger(__name__)

LOG_EVERY_S = 10.0


class WrongKeys:
    """Counts them, and makes their senders wait."""

    def __init__(self, metrics: Metrics, *, slows: bool = True) -> None:
        """Without `slows` they are only counted and logged."""
        self._metrics = metrics
        self._slows = slows
        self._slowing = Slowing()
        self._logged_s = float("-inf")

    async def given(self, address: str) -> bool:
        """A wrong key came from `address`. See `Slowing.refused`."""
        self._metrics.wrong_keys += 1
        now_s = asyncio.get_running_loop().time()
        if now_s - self._logged_s >= LOG_EVERY_S:
            self._logged_s = now_s
            log.warning("a wrong key from %s (%d wrong keys so far)", address, self._metrics.wrong_keys)
        return not self._slows or await self._slowing.refused(address)
