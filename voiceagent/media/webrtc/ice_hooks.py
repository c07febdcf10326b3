"""Puts a `DatagramGate` in front of aioice's sockets. As shipped, these hand on datagrams of any address, raise on malformed
STUN, and send to whatever an offer names. This reaches behind aioice's interface: `moved` says what a release has moved."""

from __future__ import annotations

import asyncio
import inspect
import struct
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import aioice.ice
from aioice import stun

from voiceagent.media.webrtc.datagram_gate import Address, DatagramGate, DatagramKind, classify, is_stun
from voiceagent.media.webrtc.set_up_repeats import Repeats
from voiceagent.token_bucket import TokenBucket

CHECKS_PER_S = 100
CHECKS_BURST = 200
"""Signed checks that are answered at once. Browsers send one each 48 ms before they are connected, then one each second or
less."""

_PROTOCOL = "StunProtocol"
_CHECK_LIST = "_check_list"
_REMOTE_CANDIDATES = "_remote_candidates"
_NETWORK_HOST = "_network_host"
_NOMINATED = "_nominated"
_VALID_USERNAME = "_valid_username"

_shipped_protocol = aioice.ice.StunProtocol
_gates: WeakKeyDictionary[aioice.ice.Connection, DatagramGate] = WeakKeyDictionary()


def install() -> None:
    """From now on all connections of the process open their sockets behind a gate."""
    setattr(aioice.ice, _PROTOCOL, GatedProtocol)


def guard(connection: aioice.ice.Connection, gate: DatagramGate) -> None:
    """Use `gate` for `connection`, which has not opened its sockets yet."""
    _gates[connection] = gate


def moved() -> list[str]:
    """Lists the parts of the installed aioice that are elsewhere than these hooks expect."""
    problems = []
    expected = {
        (_shipped_protocol, "datagram_received"): ["self", "data", "addr"],
        (_shipped_protocol, "send_stun"): ["self", "message", "addr"],
        (_shipped_protocol, "request"): ["self", "request", "addr", "integrity_key", "retransmissions"],
        (aioice.ice.Connection, "request_received"): ["self", "message", "addr", "protocol"],
        (aioice.ice.Connection, _VALID_USERNAME): ["self", "username"],
    }
    for (owner, name), parameters in expected.items():
        found = getattr(owner, name, None)
        if found is None or list(inspect.signature(found).parameters) != parameters:
            problems.append(f"aioice's {owner.__name__}.{name} moved")
    fields = aioice.ice.Connection.__init__.__code__.co_names
    if not {_CHECK_LIST, _REMOTE_CANDIDATES, _NOMINATED} <= set(fields):
        problems.append("aioice's Connection keeps its candidates elsewhere")
    if _NETWORK_HOST not in aioice.ice.CandidatePair.remote_addr.fget.__code__.co_names:  # type: ignore[attr-defined]
        problems.append("aioice keeps a candidate's address elsewhere")
    opens = aioice.ice.Connection.get_component_candidates.__code__.co_consts
    if not any(_PROTOCOL in getattr(code, "co_names", ()) for code in opens):
        problems.append("aioice opens its sockets elsewhere")
    return problems


def _parse(data: bytes) -> stun.Message | None:
    if not is_stun(data):
        return None
    try:
        return stun.parse_message(data)
    except (ValueError, struct.error, IndexError, KeyError):
        return None


class GatedProtocol(_shipped_protocol):
    """aioice's socket, but it reads only what its connection's gate lets through."""

    def __init__(self, receiver: aioice.ice.Connection) -> None:
        super().__init__(receiver)
        self.on_closed: Callable[[], None] | None = None
        self._gate = _gates.setdefault(receiver, DatagramGate())
        self._asked: dict[bytes, Address] = {}
        """The addresses to which the requests of open transactions went."""
        self._checks = TokenBucket(CHECKS_PER_S, CHECKS_BURST)

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is closed."""
        super().connection_lost(exc)
        on_closed, self.on_closed = self.on_closed, None
        if on_closed is not None:
            on_closed()

    # asyncio's type of an address: of a datagram's socket it is (host, port, …)
    def datagram_received(self, data: bytes | str, addr: tuple[Any, ...]) -> None:
        """A datagram came from anyone."""
        assert isinstance(data, bytes)
        source: Address = (addr[0], addr[1])
        kind = classify(data)
        if kind is DatagramKind.STUN:
            self._take_stun(data, source)
        elif kind is not DatagramKind.OTHER and self._gate.knows(source):
            self.receiver.data_received(data, self.local_candidate.component)
        else:
            self._gate.counters.foreign += 1

    def send_stun(self, message: stun.Message, addr: Address) -> None:
        """Send as far as the budget allows; what is not sent counts as lost on the way."""
        data = bytes(message)
        if self._gate.may_send(addr, len(data)):
            self.transport.sendto(data, addr)

    async def request(
        self,
        request: stun.Message,
        addr: Address,
        integrity_key: bytes | None = None,
        retransmissions: int | None = None,
    ) -> tuple[stun.Message, Address]:
        """Execute a STUN transaction and return the response."""
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
            or not getattr(self.receiver, _VALID_USERNAME)(attributes["USERNAME"])
            or not message.check_message_integrity(self.receiver.local_password.encode())
        ):
            self._gate.counters.stun_unauthenticated += 1
        elif not self._checks.take(1.0, asyncio.get_running_loop().time()):
            self._gate.counters.stun_excess += 1
        else:
            self._forget(self._gate.check_received(source, size, self._in_use()))
            self.receiver.request_received(message, source, self)

    def _take_response(self, message: stun.Message, source: Address) -> None:
        password = self.receiver.remote_password
        if password and self._asked.get(message.transaction_id) == source and message.check_message_integrity(password.encode()):
            self._forget(self._gate.check_answered(source, self._in_use()))
        self.transactions[message.transaction_id].response_received(message, source)

    def _in_use(self) -> set[Address]:
        return {pair.remote_addr for pair in getattr(self.receiver, _NOMINATED).values()}

    def _forget(self, address: Address | None) -> None:
        """Give up an address that the peer has left: its checks and its candidate."""
        if address is None:
            return
        pairs: list[aioice.ice.CandidatePair] = getattr(self.receiver, _CHECK_LIST)
        for pair in [pair for pair in pairs if pair.remote_addr == address]:
            if pair.task is not None:
                pair.task.cancel()
            pairs.remove(pair)
        candidates: list[aioice.Candidate] = getattr(self.receiver, _REMOTE_CANDIDATES)
        candidates[:] = [one for one in candidates if (getattr(one, _NETWORK_HOST), one.port) != address]
