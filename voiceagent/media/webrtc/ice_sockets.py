"""Has aioice open its UDP sockets where the settings say: as shipped it takes any free port of every address, and offers no
way to change that. Reaches behind aioice's interface, as `ice_hooks` does."""

from __future__ import annotations

import asyncio
import logging
import socket
from functools import partial

import aioice.ice
from aioice import turn
from aioice.candidate import Candidate, candidate_foundation, candidate_priority

from voiceagent.media.webrtc.ice_hooks import GatedProtocol
from voiceagent.media.webrtc.ports import MediaPorts, NoPortError

log = logging.getLogger(__name__)

_GATHER = "get_component_candidates"
_PROTOCOLS = "_protocols"


def use(connection: aioice.ice.Connection, ports: MediaPorts) -> None:
    """Have `connection`, which has opened no socket yet, open its own by `ports`. It asks no STUN server then: the address that
    callers are told is a setting."""
    shipped = getattr(connection, _GATHER)

    async def gather(component: int, addresses: list[str], timeout: int = 5) -> list[Candidate]:
        opened = await _open(connection, component, ports.local(addresses), ports)
        getattr(connection, _PROTOCOLS).extend(opened)
        relayed: list[Candidate] = await shipped(component, [], timeout)
        return [protocol.local_candidate for protocol in opened] + relayed

    setattr(connection, _GATHER, gather)


def moved() -> list[str]:
    """Lists the parts of the installed aioice that are elsewhere than these hooks expect."""
    problems = []
    code = aioice.ice.Connection.get_component_candidates.__code__
    if list(code.co_varnames[: code.co_argcount]) != ["self", "component", "addresses", "timeout"]:
        problems.append(f"aioice's Connection.{_GATHER} moved")
    if _PROTOCOLS not in code.co_names:
        problems.append("aioice's Connection keeps its sockets elsewhere")
    return problems


async def _open(connection: aioice.ice.Connection, component: int, local: list[str], ports: MediaPorts) -> list[GatedProtocol]:
    """A socket on each address that has a port left. Raises NoPortError when none has."""
    opened: list[GatedProtocol] = []
    none_left: NoPortError | None = None
    try:
        for address in local:
            try:
                opened.append(await _open_one(connection, component, address, ports))
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


async def _open_one(connection: aioice.ice.Connection, component: int, address: str, ports: MediaPorts) -> GatedProtocol:
    bound = ports.open(address)
    port = bound.getsockname()[1]
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, turn.UDP_SOCKET_BUFFER_SIZE)
        _, protocol = await asyncio.get_running_loop().create_datagram_endpoint(lambda: GatedProtocol(connection), sock=bound)
    except BaseException:
        bound.close()
        ports.release(address, port)
        raise
    protocol.on_closed = partial(ports.release, address, port)
    protocol.local_candidate = Candidate(
        foundation=candidate_foundation("host", "udp", address),
        component=component,
        transport="udp",
        priority=candidate_priority(component, "host"),
        host=address,
        port=port,
        type="host",
    )
    return protocol
