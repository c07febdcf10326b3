"""aioice's connection behind a `DatagramGate`, with its sockets where the settings say. As shipped, it reads datagrams of any
address, raises on malformed STUN, sends to whatever an offer names, and takes any free port of every address but loopback."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
import struct
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import aioice.ice
from aioice import Candidate, stun, turn
from aioice.candidate import candidate_foundation, candidate_priority
from aioice.ice import CandidatePair, StunProtocol
from aiortc import RTCIceServer
from aiortc.rtcicetransport import connection_kwargs
from typing_extensions import override

from voiceagent.media.webrtc.datagram_gate import Address, DatagramGate, DatagramKind, classify, is_stun
from voiceagent.media.webrtc.ports import ANY_PORT, MediaPorts, NoPortError
from voiceagent.media.webrtc.set_up_repeats import Repeats
from voiceagent.task_owner import TaskOwner
from voiceagent.token_bucket import TokenBucket

CHECKS_PER_S = 100
CHECKS_BURST = 200
"""Signed checks that are answered at once. Browsers send one each 48 ms before they are connected, then one each second or
less."""
COMPONENT = 1
"""RTP and RTCP share one."""
RELAY_S = 1.5
"""The longest wait for one TURN server, of several."""
LOOPBACK = "127.0.0.1"

log = logging.getLogger(__name__)


class GatedConnection(aioice.ice.Connection):
    """The ICE connection of one transport. What its sockets read goes to `on_media` (SRTP, SRTCP) and `on_dtls`."""

    def __init__(self, gate: DatagramGate, ports: MediaPorts, servers: Sequence[RTCIceServer] = ()) -> None:
        super().__init__(ice_controlling=False, **connection_kwargs(list(servers)))
        self._turn_servers = [
            kwargs
            for server in servers
            for url in ([server.urls] if isinstance(server.urls, str) else server.urls)
            if "turn_server" in (kwargs := connection_kwargs([replace(server, urls=url)]))
        ]
        self.gate = gate
        self.is_up = True
        """False once it was closed, or lost the socket that it uses. ICE closes it when the peer's consent ends (RFC 7675)."""
        self.on_media: Callable[[bytes], None] = _ignore
        self.on_dtls: Callable[[bytes], None] = _ignore
        self.on_sending: Callable[[bytes], None] = _ignore
        """Called with each datagram of DTLS before it is sent."""
        self.on_read: Callable[[], None] = lambda: None
        """Called when a datagram of DTLS was read."""
        self._ports = ports
        self._route: tuple[StunProtocol, Address] | None = None
        """The socket and the peer's address in use."""

    def is_for_us(self, username: str) -> bool:
        """True when a check names both ends of this connection (RFC 8445 §7.3)."""
        local, _, remote = username.partition(":")
        return local == self.local_username and self.remote_username in (None, remote)

    def in_use(self) -> set[Address]:
        """The peer's address that media goes to, if there is one."""
        return set() if self._route is None else {self._route[1]}

    def forget(self, address: Address | None) -> None:
        """Give up an address that the peer has left: its checks and its candidates."""
        for pair in [pair for pair in self._check_list if pair.remote_addr == address]:
            if pair.task is not None:
                pair.task.cancel()
            self._check_list.remove(pair)
            if pair.remote_candidate in self._remote_candidates:
                self._remote_candidates.remove(pair.remote_candidate)

    def send_now(self, data: bytes) -> None:
        """Send a datagram to the peer. Raises ConnectionError while there is no way to it."""
        if self._route is None:
            raise ConnectionError("there is no way to the peer")
        protocol, address = self._route
        protocol.transport.sendto(data, address)

    @override
    async def recv(self) -> bytes:
        data = await super().recv()
        self.on_read()
        return data

    @override
    async def send(self, data: bytes) -> None:
        self.on_sending(data)
        self.send_now(data)

    @override
    def check_complete(self, pair: CandidatePair) -> None:
        super().check_complete(pair)
        if self.is_up and pair.nominated and pair.state is CandidatePair.State.SUCCEEDED:
            self._route = pair.protocol, pair.remote_addr

    @override
    def protocol_lost(self, protocol: StunProtocol) -> None:
        super().protocol_lost(protocol)
        if self._route is not None and self._route[0] is protocol:
            self.is_up, self._route = False, None

    @override
    async def close(self) -> None:
        self.is_up, self._route = False, None
        await super().close()

    @override
    async def get_component_candidates(self, component: int, addresses: list[str], timeout: int = 5) -> list[Candidate]:
        """Open the sockets. Where `media.ports` are set, no STUN server is asked: callers are told an address of the settings. A
        machine that has nothing but loopback connects to itself."""
        opened = await self._open_sockets(self._ports.local(addresses or [LOOPBACK]))
        self._protocols.extend(opened)
        return [protocol.local_candidate for protocol in opened] + await self._ask_servers(opened, timeout)

    async def _open_sockets(self, addresses: list[str]) -> list[GatedProtocol]:
        """A socket on each address that has a port left. Raises NoPortError when none has."""
        opened: list[GatedProtocol] = []
        none_left: NoPortError | None = None
        try:
            for address in addresses:
                try:
                    opened.append(await self._open_socket(address))
                except NoPortError as error:
                    none_left = error
                except OSError as error:
                    log.info("no audio is taken on %s: %s", address, error)
        except BaseException:
            for protocol in opened:
                protocol.transport.close()
            raise
        if none_left is not None and not opened:
            raise none_left
        return opened

    async def _open_socket(self, address: str) -> GatedProtocol:
        bound = self._ports.open(address)
        port = bound.getsockname()[1]
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, turn.UDP_SOCKET_BUFFER_SIZE)
            _, protocol = await asyncio.get_running_loop().create_datagram_endpoint(lambda: GatedProtocol(self), sock=bound)
        except BaseException:
            bound.close()
            self._ports.release(address, port)
            raise
        protocol.on_closed = partial(self._ports.release, address, port)
        protocol.local_candidate = Candidate(
            foundation=candidate_foundation("host", "udp", address),
            component=COMPONENT,
            transport="udp",
            priority=candidate_priority(COMPONENT, "host"),
            host=address,
            port=port,
            type="host",
        )
        return protocol

    async def _ask_servers(self, opened: list[GatedProtocol], timeout_s: float) -> list[Candidate]:
        """The candidates that the STUN and the TURN server give in time."""
        asking: list[Coroutine[object, None, tuple[Candidate, StunProtocol | None]]] = []
        if self.stun_server and self._ports is ANY_PORT:
            asking += [
                aioice.ice.server_reflexive_candidate(protocol, self.stun_server)
                for protocol in opened
                if ipaddress.ip_address(protocol.local_candidate.host).version == 4
            ]
        if self._turn_servers:
            asking.append(self._ask_turn_servers())
        if not asking:
            return []
        owner = TaskOwner()
        try:
            tasks = [owner.start(one, "ICE server") for one in asking]
            answered, _ = await asyncio.wait(tasks, timeout=timeout_s)
        finally:
            await owner.close()
        found = [task.result() for task in tasks if task in answered and task.exception() is None]
        self._protocols.extend(protocol for _, protocol in found if protocol is not None)
        return [candidate for candidate, _ in found]

    async def _ask_turn_servers(self) -> tuple[Candidate, StunProtocol | None]:
        """The relay of the first TURN server that gives one, in their order. Raises ConnectionError when none does."""
        for server in self._turn_servers:
            try:
                async with asyncio.timeout(RELAY_S):
                    return await aioice.ice.relayed_candidate(
                        component=COMPONENT, hide_related_address=False, protocol_factory=lambda: GatedProtocol(self), **server
                    )
            except (OSError, TimeoutError, stun.TransactionError) as error:
                log.info("the TURN server at %s:%s gives no relay: %s", *server["turn_server"], error or "no answer")
        raise ConnectionError("no TURN server gives a relay")


class GatedProtocol(StunProtocol):
    """aioice's socket, but it reads only what its connection's gate lets through."""

    def __init__(self, connection: GatedConnection) -> None:
        super().__init__(connection)
        self.on_closed: Callable[[], None] | None = None
        self._connection = connection
        self._gate = connection.gate
        self._asked: dict[bytes, Address] = {}
        """The addresses to which the requests of open transactions went."""
        self._checks = TokenBucket(CHECKS_PER_S, CHECKS_BURST)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        on_closed, self.on_closed = self.on_closed, None
        if on_closed is not None:
            on_closed()

    # asyncio's type of an address: of a datagram's socket it is (host, port, …)
    @override
    def datagram_received(self, data: bytes | str, addr: tuple[Any, ...]) -> None:
        assert isinstance(data, bytes)
        source: Address = (addr[0], addr[1])
        kind = classify(data)
        if kind is DatagramKind.STUN:
            self._take_stun(data, source)
        elif kind is DatagramKind.OTHER or not self._gate.knows(source):
            self._gate.counters.foreign += 1
        elif kind is DatagramKind.RTP:
            self._connection.on_media(data)
        else:
            self._connection.on_dtls(data)

    @override
    def send_stun(self, message: stun.Message, addr: Address) -> None:
        """Send as far as the budget allows; what is not sent counts as lost on the way."""
        data = bytes(message)
        if self._gate.may_send(addr, len(data)):
            self.transport.sendto(data, addr)

    @override
    async def request(
        self,
        request: stun.Message,
        addr: Address,
        integrity_key: bytes | None = None,
        retransmissions: int | None = None,
    ) -> tuple[stun.Message, Address]:
        self._asked[request.transaction_id] = addr
        # A consent check has no retransmissions: it is lost when it is late (RFC 7675).
        repeats = Repeats(lambda: self._ask_again(request, addr)) if retransmissions is None else None
        try:
            return await super().request(request, addr, integrity_key, retransmissions)
        finally:
            del self._asked[request.transaction_id]
            if repeats is not None:
                repeats.stop()

    def _ask_again(self, request: stun.Message, addr: Address) -> None:
        if self._gate.expects(addr) and not self.transport.is_closing():
            self.send_stun(request, addr)

    def _take_stun(self, data: bytes, source: Address) -> None:
        message = _parse(data)
        if message is None:
            self._gate.counters.stun_malformed += 1
        elif message.message_class is stun.Class.REQUEST:
            self._take_request(message, source, len(data))
        elif message.message_class is not stun.Class.INDICATION and message.transaction_id in self.transactions:
            self._take_response(message, source)

    def _take_request(self, message: stun.Message, source: Address, size: int) -> None:
        """Only a check that the peer signed has an effect, and an answer (RFC 8445 §7.3, RFC 8489 §9.1.3)."""
        attributes = message.attributes
        if (
            message.message_method is not stun.Method.BINDING
            or not {"USERNAME", "PRIORITY"} <= attributes.keys()
            or not self._connection.is_for_us(attributes["USERNAME"])
            or not message.check_message_integrity(self._connection.local_password.encode())
        ):
            self._gate.counters.stun_unauthenticated += 1
        elif not self._checks.take(1.0, asyncio.get_running_loop().time()):
            self._gate.counters.stun_excess += 1
        else:
            self._connection.forget(self._gate.check_received(source, size, self._connection.in_use()))
            self._connection.request_received(message, source, self)

    def _take_response(self, message: stun.Message, source: Address) -> None:
        password = self._connection.remote_password
        if password and self._asked.get(message.transaction_id) == source and message.check_message_integrity(password.encode()):
            self._connection.forget(self._gate.check_answered(source, self._connection.in_use()))
        self.transactions[message.transaction_id].response_received(message, source)


def _parse(data: bytes) -> stun.Message | None:
    if not is_stun(data):
        return None
    try:
        return stun.parse_message(data)
    except (ValueError, struct.error, IndexError, KeyError):
        return None


def _ignore(data: bytes) -> None:
    """Drop a datagram that nobody takes."""
