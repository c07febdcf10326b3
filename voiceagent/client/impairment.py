"""A bad network on purpose: a UDP relay on this machine between a caller and a server, with loss, jitter and reordering that a
seed repeats. The relay puts itself into the path by rewriting the candidates in the SDP. For tests, benchmarks and `voiceagent
call`."""

from __future__ import annotations

import asyncio
import random
import re
import socket
from dataclasses import dataclass
from typing import cast

from voiceagent.errors import MediaError
from voiceagent.task_owner import TaskOwner

MAX_FLOWS = 8
"""Caller addresses that are relayed (one for each of its network interfaces)."""
MAX_IN_FLIGHT = 4096
APART_S = 1e-6
"""Between packets that must stay in order: asyncio runs timers of the same time in any order."""
GOODBYE_S = 0.05
"""A relay reads so long what the caller has sent before it closed."""

_CANDIDATE = re.compile(r"^a=candidate:\S+ 1 udp \d+ (?P<host>[\d.]+) (?P<port>\d+) typ host.*$", re.IGNORECASE | re.MULTILINE)
_ANY_CANDIDATE = re.compile(r"^a=(candidate:.*|end-of-candidates)\r?\n", re.MULTILINE)

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Impairment:
    """The network's treatment of each packet, in both directions."""

    loss: float = 0.0
    """Probability (0..1) that it is lost."""
    jitter_ms: float = 0.0
    """Extra delay, uniform in 0..jitter_ms, drawn anew for each packet."""
    delay_ms: float = 0.0
    """Constant delay."""
    reorder: bool = True
    """Lets jitter put packets out of order."""
    seed: int = 0


class _Side(asyncio.DatagramProtocol):
    """One socket of the relay."""

    def __init__(self, relay: ImpairedRelay, flow: Address | None) -> None:
        self.relay = relay
        self.flow = flow
        self.transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: Address) -> None:
        if self.flow is None:
            self.relay.from_caller(data, addr[:2])
        else:
            self.relay.from_server(data, self.flow)

    def send(self, data: bytes, to: Address) -> None:
        """Send now, unless the relay is closed."""
        if self.transport is not None and not self.transport.is_closing():
            self.transport.sendto(data, to)


class ImpairedRelay:
    """The relay of one `Caller`, which closes it."""

    def __init__(self, impairment: Impairment) -> None:
        if not 0.0 <= impairment.loss <= 1.0:
            raise MediaError(f"a loss of {impairment.loss} cannot be made; expected a probability from 0 to 1, such as 0.05")
        if impairment.jitter_ms < 0 or impairment.delay_ms < 0:
            raise MediaError(f"{impairment.jitter_ms} ms of jitter, {impairment.delay_ms} ms of delay: expected none below 0")
        self.impairment = impairment
        self.lost = 0
        self._random = random.Random(impairment.seed)
        self._server: Address = ("", 0)
        self._caller_side: _Side | None = None
        self._flows: dict[Address, _Side] = {}
        self._opening = TaskOwner()
        self._timers: set[asyncio.TimerHandle] = set()
        self._last_due_s = {"up": 0.0, "down": 0.0}
        self._closed = False

    def rewrite_offer(self, sdp: str) -> str:
        """The offer without the caller's addresses: the server learns the relay's from the packets."""
        return _ANY_CANDIDATE.sub("", sdp)

    async def rewrite_answer(self, sdp: str) -> str:
        """Open the relay to the server's first IPv4 address; returns the answer with the relay's address in its place. Raises
        MediaError when there is none."""
        match = _CANDIDATE.search(sdp)
        if match is None:
            raise MediaError("the answer has no IPv4 host candidate; the relay needs one")
        self._server = (match["host"], int(match["port"]))
        side = await self._open(None)
        self._caller_side = side
        assert side.transport is not None
        port = side.transport.get_extra_info("sockname")[1]
        line = f"a=candidate:1 1 udp 2130706431 {match['host']} {port} typ host\r\na=end-of-candidates\r\n"
        sections = _ANY_CANDIDATE.sub("", sdp).rstrip("\r\n") + "\r\n"
        head, *media = re.split(r"(?m)^(?=m=)", sections)
        return head + "".join(section + line for section in media)

    async def close(self) -> None:
        """Stop relaying once all that the caller has sent is through, its goodbye last, and close the sockets."""
        await asyncio.sleep(GOODBYE_S)  # what lies in a socket has to be read first
        await asyncio.sleep(max(0.0, self._last_due_s["up"] - asyncio.get_running_loop().time()))
        self._closed = True
        await self._opening.close()
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        for side in [self._caller_side, *self._flows.values()]:
            if side is not None and side.transport is not None:
                side.transport.close()

    async def _open(self, flow: Address | None) -> _Side:
        loop = asyncio.get_running_loop()
        host = self._server[0]
        _, side = await loop.create_datagram_endpoint(lambda: _Side(self, flow), local_addr=(host, 0), family=socket.AF_INET)
        return side

    def from_caller(self, data: bytes, caller: Address) -> None:
        """A packet of the caller, on its way up."""
        side = self._flows.get(caller)
        if side is not None:
            self._impair("up", side, data, self._server)
        elif len(self._flows) + len(self._opening) < MAX_FLOWS and not self._closed:
            # Lost, because the flow's socket is still opening: ICE sends its first check again.
            self._opening.start_alone(self._add_flow(caller), "flow of an impaired network")

    async def _add_flow(self, caller: Address) -> None:
        side = await self._open(caller)
        if caller in self._flows or self._closed:
            if side.transport is not None:
                side.transport.close()
            return
        self._flows[caller] = side

    def from_server(self, data: bytes, caller: Address) -> None:
        """A packet of the server, on its way down."""
        if self._caller_side is not None:
            self._impair("down", self._caller_side, data, caller)

    def _impair(self, direction: str, side: _Side, data: bytes, to: Address) -> None:
        what = self.impairment
        if self._random.random() < what.loss or len(self._timers) >= MAX_IN_FLIGHT:
            self.lost += 1
            return
        delay_s = (what.delay_ms + self._random.uniform(0.0, what.jitter_ms)) / 1000.0
        if delay_s <= 0:
            side.send(data, to)
            return
        loop = asyncio.get_running_loop()
        due_s = loop.time() + delay_s
        if not what.reorder:
            due_s = max(due_s, self._last_due_s[direction] + APART_S)
        self._last_due_s[direction] = max(due_s, self._last_due_s[direction])

        def deliver() -> None:
            self._timers.discard(timer)
            side.send(data, to)

        timer = loop.call_at(due_s, deliver)
        self._timers.add(timer)
