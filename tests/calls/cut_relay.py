"""A network that a caller can be cut off from: its packets go nowhere any more, and those of a new connection arrive."""

from __future__ import annotations

from typing_extensions import override

from voiceagent.client.impairment import Address, ImpairedRelay, Impairment
from voiceagent.client.signalling import NoServerError


class CutRelay(ImpairedRelay):
    """The relay of one `Caller`."""

    def __init__(self) -> None:
        super().__init__(Impairment())
        self._dead: set[Address] = set()
        self.is_down = False
        """True while no server can be reached, so that no new connection is made either."""

    def cut(self) -> None:
        """Drop all packets of the connections so far, both ways."""
        for caller, side in self._flows.items():
            self._dead.add(caller)
            if side.transport is not None:
                side.transport.close()
        self._flows.clear()

    @override
    def rewrite_offer(self, sdp: str) -> str:
        if self.is_down:
            raise NoServerError("the network is down")
        return super().rewrite_offer(sdp)

    @override
    def from_caller(self, data: bytes, caller: Address) -> None:
        if caller not in self._dead:
            super().from_caller(data, caller)

    @override
    def from_server(self, data: bytes, caller: Address) -> None:
        if caller not in self._dead:
            super().from_server(data, caller)
