"""Calls between two servers: the one that stops leaves them in the store, and another one goes on with each as its caller comes
back. See `store/waiting_calls.py` for how they are kept."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import msgspec

from voiceagent.json_types import JsonObject
from voiceagent.latency.spans import LegKind
from voiceagent.store.database import StoreAddress, StoreError
from voiceagent.store.waiting_calls import forget_late, keep_calls, read_call, seal, take_call
from voiceagent.untrusted_json import read_struct

FORGOTTEN_EVERY_S = 30.0
READERS = 4
"""The most tokens that are looked up at a time: a wrong one costs a query, too."""
ENCODER = msgspec.json.Encoder(enc_hook=float)
"""Times may be NumPy numbers."""

log = logging.getLogger(__name__)


class WaitingCall(msgspec.Struct, frozen=True):
    """A call that waits for its caller."""

    leg: LegKind
    owner: tuple[str, str]
    """The name and the id of its client's key."""
    origin: str | None
    """The pages that may take it up, if it was begun with a client secret (empty: any). None: it was begun with the key."""
    session: JsonObject
    """The session settings with which it goes on."""
    left: msgspec.Raw
    """The rest of it, for the turn engine and the session."""


@dataclass(slots=True)
class WaitingCalls:
    """The calls that wait in a store, each for `timeout_s`."""

    address: StoreAddress
    timeout_s: float
    _readers: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(READERS))

    async def keep(self, calls: Sequence[tuple[bytes, bytes, WaitingCall]]) -> bool:
        """Keep these calls: the hash of each one's token, the key that seals it, and the call. Returns False if they are lost."""
        try:
            sealed = {found: seal(ENCODER.encode(call), key) for found, key, call in calls}
            await asyncio.to_thread(keep_calls, self.address, sealed, time.time() + self.timeout_s)
        except StoreError as error:
            log.error("the calls cannot go on at another server: %s", error)
            return False
        return True

    async def find(self, token: str) -> WaitingCall | None:
        """The call of this token; None if none waits for it, or it cannot be read."""
        return await self._ask(partial(read_call, self.address, token))

    async def take(self, token: str) -> WaitingCall | None:
        """The same, and it waits no more."""
        return await self._ask(partial(take_call, self.address, token))

    async def _ask(self, ask: Callable[[], bytes | None]) -> WaitingCall | None:
        try:
            async with self._readers:
                found = await asyncio.to_thread(ask)
            return None if found is None else read_struct(found, WaitingCall)
        except (StoreError, ValueError) as error:
            log.error("a call that another server has left cannot be read: %s", error)
            return None

    async def run(self) -> None:
        """Delete what nobody has taken in time, for ever."""
        while True:
            try:
                await asyncio.to_thread(forget_late, self.address)
            except StoreError as error:
                log.warning("calls that waited too long are not deleted: %s", error)
            await asyncio.sleep(FORGOTTEN_EVERY_S)
