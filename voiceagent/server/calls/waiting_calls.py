"""Calls between two servers: the one that stops leaves them in the store, and another one goes on with each as its caller comes
back. See `store/waiting_calls.py` for how they are kept. The calls of a server that was killed are found where it kept them
(`store/carried_calls.py`), once it is known to be dead."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import msgspec

from voiceagent.errors import VoiceAgentError
from voiceagent.json_types import JsonObject
from voiceagent.latency.spans import LegKind
from voiceagent.store import carried_calls
from voiceagent.store.database import StoreAddress, StoreError
from voiceagent.store.waiting_calls import NO_CALLS, forget_late, keep_calls, read_call, seal, take_call
from voiceagent.untrusted_json import read_struct

FORGOTTEN_EVERY_S = 30.0
DEAD_S = carried_calls.LEASE_S + 1.0
"""A caller of a call that another server carries waits so long for the death of that server."""
ROUNDED_S = 0.01
READERS = 4
"""The most tokens that are looked up at a time: a wrong one costs a query, too."""
ENCODER = msgspec.json.Encoder(enc_hook=float)
"""Times may be NumPy numbers."""

log = logging.getLogger(__name__)
A = TypeVar("A")


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


class NotYetError(VoiceAgentError):
    """A call cannot be taken up now, but perhaps in a moment: another server carries it and lives, or the store is away."""


@dataclass(slots=True)
class WaitingCalls:
    """The calls that wait in a store, each for `timeout_s`."""

    address: StoreAddress
    timeout_s: float
    server: str = ""
    """This server's name in the store, where servers keep the calls that they carry. Empty: they keep none."""
    _readers: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(READERS))

    async def keep(
        self, calls: Sequence[tuple[bytes, bytes, WaitingCall]], carried: Mapping[bytes, tuple[str, str]] = NO_CALLS
    ) -> bool:
        """Keep these calls: the hash of each one's token, the key that seals it, and the call. `carried`: see `keep_calls`.
        Returns False if they are lost."""
        try:
            sealed = {found: seal(ENCODER.encode(call), key) for found, key, call in calls}
            await asyncio.to_thread(keep_calls, self.address, sealed, time.time() + self.timeout_s, carried)
        except StoreError as error:
            log.error("the calls cannot go on at another server: %s", error)
            return False
        return True

    async def find(self, token: str) -> WaitingCall | None:
        """The call of this token; None if none waits for it, or it cannot be read. If a server carries it, wait for the death of
        that server. Raises NotYetError."""
        if not self.server:
            left = await self._ask(partial(read_call, self.address, token))
            return None if left is None else _read(left)
        until_s = time.monotonic() + DEAD_S
        while (found := await self._ask(partial(carried_calls.find_call, self.address, token))) is not None:
            if found.server and found.server == self.server:
                return None
            if found.alive_s <= 0:
                return _read(found.left)
            if time.monotonic() > until_s:
                raise NotYetError("Another server carries this call, and lives; resume it there, or try again in a moment.")
            await asyncio.sleep(min(found.alive_s, carried_calls.LEASE_S) + ROUNDED_S)
        return None

    async def take(self, token: str, call_id: str) -> WaitingCall | None:
        """The same, and it waits no more. Here it is a call with this id. Raises NotYetError."""
        if self.server:
            left = await self._ask(partial(carried_calls.take_call, self.address, token, self.server, call_id))
        else:
            left = await self._ask(partial(take_call, self.address, token))
        return None if left is None else _read(left)

    async def _ask(self, ask: Callable[[], A]) -> A:
        try:
            async with self._readers:
                return await asyncio.to_thread(ask)
        except StoreError as error:
            log.error("a call that another server has left cannot be read: %s", error)
            raise NotYetError("The store does not tell of this call; try again in a moment.") from error

    async def run(self) -> None:
        """Delete what nobody has taken in time, for ever."""
        while True:
            try:
                await asyncio.to_thread(forget_late, self.address)
                if self.server:
                    await asyncio.to_thread(carried_calls.forget_dead, self.address, self.timeout_s)
            except StoreError as error:
                log.warning("calls that waited too long are not deleted: %s", error)
            await asyncio.sleep(FORGOTTEN_EVERY_S)


def _read(left: bytes) -> WaitingCall | None:
    try:
        return read_struct(left, WaitingCall)
    except ValueError as error:
        log.error("a call that another server has left cannot be read: %s", error)
        return None
