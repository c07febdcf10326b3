"""A connected call on loopback whose server end takes datagrams as if they came from the network: the ground of the targets below
the offer. A call that a datagram rightly ended is made anew."""

from __future__ import annotations

import asyncio
import ipaddress
from asyncio import selector_events
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import aioice.ice

from tests.fuzz.target import Finding
from tests.media.conftest import MediaServer
from voiceagent.client.caller import Caller
from voiceagent.media.inbound_frames import MAX_FRAMES
from voiceagent.media.outgoing_events import READER
from voiceagent.media.webrtc.event_channel import MAX_WAITING
from voiceagent.media.webrtc.webrtc_leg import WebRtcLeg

STRANGER = ("127.0.0.1", 9)
"""An address that is not the peer's."""
ROUNDS = 12
"""Of the event loop, in which what a datagram set off has run."""
MAX_DATAGRAMS = 64
MAX_MESSAGE_BYTES = 1_048_576
MAX_STREAMS = 1024
"""What may wait at a call's end after `ROUNDS`, besides what the leg itself bounds."""
RIGHTLY = ("abuse", "hangup", "lost", "too_slow")
"""Why a peer's own packets may end its own call."""


@contextmanager
def only_loopback() -> Iterator[None]:
    """Meanwhile this process gathers loopback addresses only, and a datagram to any other address stays here: an offer may name
    whatever a mutation makes of it."""
    transport = selector_events._SelectorDatagramTransport  # type: ignore[attr-defined]  # private to asyncio
    shipped_sendto, gathered = transport.sendto, aioice.ice.get_host_addresses

    def sendto(self: Any, data: bytes, addr: Any = None) -> None:
        try:
            is_here = addr is None or ipaddress.ip_address(addr[0]).is_loopback
        except ValueError:
            is_here = False
        if is_here:
            shipped_sendto(self, data, addr)

    transport.sendto = sendto
    aioice.ice.get_host_addresses = lambda use_ipv4, use_ipv6: []
    try:
        yield
    finally:
        transport.sendto, aioice.ice.get_host_addresses = shipped_sendto, gathered


class LiveCall:
    """`leg` is the server's end, `caller` the peer's."""

    def __init__(self) -> None:
        self.server = MediaServer()
        self.caller: Caller
        self.leg: WebRtcLeg
        self.made = 0
        """Calls so far."""
        self._stack = ExitStack()

    async def open(self) -> None:
        self._stack.enter_context(only_loopback())
        await self.server.start()
        await self._call()

    async def close(self) -> None:
        await self.caller.hangup()
        await self.server.stop()
        self._stack.close()

    async def _call(self) -> None:
        self.caller = Caller(self.server.url)
        await self.caller.connect()
        self.leg = self.server.legs[-1]
        await self.leg.wait_connected()
        while not self.is_up:  # noqa: ASYNC110  nobody tells of an association
            await asyncio.sleep(0.001)
        self.made += 1

    @property
    def sctp(self) -> Any:
        """The server's association."""
        return self.leg._peer.sctp

    @property
    def dtls(self) -> Any:
        """The server's transport."""
        return self.leg._peer.transport.dtls

    @property
    def ice(self) -> aioice.ice.Connection:
        """The server's connection."""
        connection: aioice.ice.Connection = self.dtls.transport._connection
        return connection

    @property
    def peer_dtls(self) -> Any:
        """The peer's transport, with the keys that the server's opens."""
        assert self.caller._peer is not None
        return self.caller._peer.transport.dtls

    @property
    def peer(self) -> tuple[str, int]:
        """The peer's address; when it has none any more, a stranger's."""
        return self.ice._nominated[1].remote_addr if 1 in self.ice._nominated else STRANGER

    async def receive(self, data: bytes, source: tuple[str, int]) -> None:
        """A datagram comes to the server's socket, if it is open; returns when what it set off has run."""
        if 1 in self.ice._nominated:
            self.ice._nominated[1].protocol.datagram_received(data, source)
        await self.settle()

    async def settle(self) -> None:
        """Let run what is ready."""
        for _ in range(ROUNDS):
            await asyncio.sleep(0)

    @property
    def is_up(self) -> bool:
        """Whether media and events can flow."""
        states = (self.dtls.state, self.sctp.state, self.peer_dtls.state)
        return not self.leg.end_reason and not self.caller.end_reason and states == ("connected",) * 3

    def stays_up(self) -> None:
        """Raises Finding when the server's end has ended: nothing that a stranger sends may do that."""
        if self.leg.end_reason or self.dtls.state != "connected":
            raise Finding(f"the call ended ({self.leg.end_reason or 'no reason'}, DTLS {self.dtls.state})")

    def ends_rightly(self) -> None:
        """Raises Finding when the peer's packets ended the call otherwise than they may."""
        if self.leg.end_reason and self.leg.end_reason not in RIGHTLY:
            raise Finding(f"the call ended as {self.leg.end_reason!r}; a peer's packet may end it as one of {RIGHTLY}")

    def within_bounds(self) -> None:
        """Raises Finding when more waits at the server's end than may."""
        reassembly = [chunk for stream in self.sctp._inbound_streams.values() for chunk in stream.reassembly]
        waiting = {
            "frames to be heard": (len(self.leg._inbound), MAX_FRAMES),
            "events": (len(self.leg._events._in), MAX_WAITING),
            "events to be read": (len(self.leg._events._out), READER.events),
            "datagrams": (self.ice._queue.qsize(), MAX_DATAGRAMS),
            "bytes of messages": (sum(len(chunk.user_data) for chunk in reassembly), MAX_MESSAGE_BYTES),
            "streams": (len(self.sctp._inbound_streams), MAX_STREAMS),
        }
        too_many = {what: found for what, (found, limit) in waiting.items() if found > limit}
        if too_many:
            raise Finding(f"more waits than may: {too_many}")

    async def renew(self) -> None:
        """A new call in place of one that is over."""
        if self.is_up:
            return
        await self.caller.hangup()
        await self.leg.close()
        await self.server.finish()
        await self._call()
