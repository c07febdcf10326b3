"""Makes guessing keys slow: after a few wrong keys, an address waits for each further answer. A right key never waits, since
others may share its address (a proxy, an office)."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict

from voiceagent.server.metrics import Metrics
from voiceagent.token_bucket import TokenBucket

log = logging.getLogger(__name__)

AT_ONCE = 5.0
"""How many wrong keys of an address are answered at once."""
FORGIVEN_PER_S = 0.1
"""How many of them are forgotten in a second."""
PAUSE_S = 1.0
"""How long the answer to a further wrong key takes."""
MAX_WAITING = 64
"""How many answers may wait at a time; other clients are told to come back later. `Connections.wait_s` limits how many of these
an address gets."""
MAX_ADDRESSES = 1024
LOG_EVERY_S = 10.0


class WrongKeys:
    """Counts them, and makes their senders wait."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._by_address: OrderedDict[str, TokenBucket] = OrderedDict()
        self._waiting = 0
        self._logged_s = float("-inf")

    async def given(self, address: str) -> bool:
        """A wrong key came from `address`: returns when it may be answered; False when the client is to be told to come back
        later."""
        self._metrics.wrong_keys += 1
        now_s = asyncio.get_running_loop().time()
        if now_s - self._logged_s >= LOG_EVERY_S:
            self._logged_s = now_s
            log.warning("a wrong key from %s (%d wrong keys so far)", address, self._metrics.wrong_keys)
        if self._bucket(address).take(1.0, now_s):
            return True
        if self._waiting >= MAX_WAITING:
            return False
        self._waiting += 1
        try:
            await asyncio.sleep(PAUSE_S)
        finally:
            self._waiting -= 1
        return True

    def _bucket(self, address: str) -> TokenBucket:
        bucket = self._by_address.pop(address, None) or TokenBucket(FORGIVEN_PER_S, AT_ONCE)
        self._by_address[address] = bucket
        while len(self._by_address) > MAX_ADDRESSES:
            self._by_address.popitem(last=False)
        return bucket
