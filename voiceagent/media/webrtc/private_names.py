"""The private names of aiortc and aioice that the subclasses here use, for the pinned 1.16. `check` raises when a release has
moved one; a method that it does not find would silently no longer be overridden."""

from __future__ import annotations

import inspect

import aioice.ice
import aiortc
from aiortc import RTCDtlsTransport, RTCIceGatherer, RTCIceTransport, RTCSctpTransport
from aiortc.rtcsctptransport import InboundStream

from voiceagent.errors import MediaError

SUPPORTED = "1.16."

PRIVATE: dict[type, tuple[str, ...]] = {
    aioice.ice.Connection: ("_check_list", "_protocols", "_remote_candidates"),
    RTCIceGatherer: ("_connection",),
    RTCDtlsTransport: ("_rx_srtp", "_tx_srtp"),
    RTCSctpTransport: (
        "_advertised_rwnd",
        "_inbound_streams",
        "_last_received_tsn",
        "_last_sacked_tsn",
        "_local_tsn",
        "_sack_misordered",
    ),
}
"""Fields, by their class."""
ELSEWHERE: dict[type, tuple[str, ...]] = {RTCIceTransport: ("_connection", "recv", "send"), InboundStream: ("reassembly",)}
"""Names that these classes must read or have, so that the subclasses and fields above have an effect."""
METHODS: dict[type, dict[str, tuple[str, ...]]] = {
    aioice.ice.StunProtocol: {
        "datagram_received": ("data", "addr"),
        "send_stun": ("message", "addr"),
        "request": ("request", "addr", "integrity_key", "retransmissions"),
    },
    aioice.ice.Connection: {
        "check_complete": ("pair",),
        "data_received": ("data", "component"),
        "get_component_candidates": ("component", "addresses", "timeout"),
        "protocol_lost": ("protocol",),
        "request_received": ("message", "addr", "protocol"),
    },
    RTCDtlsTransport: {"_send_data": ("data",), "_set_role": ("role",)},
    RTCSctpTransport: {"_handle_data": ("data",)},
}
"""Methods that are called or overridden, with their parameters. Those of aioice are public, but not documented."""


def check() -> None:
    """Raises MediaError when the installed aiortc is not the one that this package was written for."""
    problems = moved()
    if problems:
        found = "; ".join(problems)
        raise MediaError(f"aiortc cannot be used: {found}; expected {SUPPORTED}*: pip install 'aiortc=={SUPPORTED}*'")


def moved() -> list[str]:
    """Lists what the installed aiortc and aioice have elsewhere."""
    problems = [] if aiortc.__version__.startswith(SUPPORTED) else [f"its version is {aiortc.__version__}"]
    for owner, names in [*PRIVATE.items(), *ELSEWHERE.items()]:
        known = owner.__init__.__code__.co_names  # type: ignore[misc]  # of a class, not of an object that may have another
        problems += [f"{owner.__name__}.{name} moved" for name in names if name not in known]
    for owner, methods in METHODS.items():
        for name, parameters in methods.items():
            found = getattr(owner, name, None)
            if found is None or tuple(inspect.signature(found).parameters) != ("self", *parameters):
                problems.append(f"{owner.__name__}.{name} moved")
    return problems
