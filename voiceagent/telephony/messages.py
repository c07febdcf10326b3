"""What those who carry telephone calls say over a call's WebSocket, whatever their dialect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Encoding(Enum):
    """How samples are written."""

    MULAW = "mulaw"
    ALAW = "alaw"
    L16 = "l16"
    """16 bits, little-endian."""


MAX_PARAMETERS = 32

RATES_HZ = (8_000, 16_000, 24_000)


@dataclass(frozen=True, slots=True)
class AudioFormat:
    """Of both directions; mono."""

    encoding: Encoding = Encoding.MULAW
    rate_hz: int = 8_000


@dataclass(frozen=True, slots=True)
class CallFacts:
    """Who calls whom, as far as it is told. None of it may be believed more than whom it came from."""

    caller: str = ""
    called: str = ""
    vendors_id: str = ""
    """The vendor's own id of the call: for its console and its API."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """What the operator had the vendor pass on."""
    outbound: bool = False
    """Whether we called: then whoever answers may be a machine."""

    def beside(self, other: CallFacts) -> CallFacts:
        """These, and what the other has besides."""
        others = {name: value for name, value in other.parameters.items() if name not in self.parameters}
        return CallFacts(
            self.caller or other.caller,
            self.called or other.called,
            self.vendors_id or other.vendors_id,
            dict([*self.parameters.items(), *others.items()][:MAX_PARAMETERS]),
            self.outbound or other.outbound,
        )


@dataclass(frozen=True, slots=True)
class Started:
    """The call's audio begins."""

    format: AudioFormat
    facts: CallFacts


@dataclass(frozen=True, slots=True)
class Audio:
    """A piece of the caller's audio."""

    payload: bytes
    chunk: int | None
    """Its number, from wherever they begin; None where pieces come in order and are not numbered."""


@dataclass(frozen=True, slots=True)
class Digit:
    """The caller pressed a key."""

    key: str


@dataclass(frozen=True, slots=True)
class MarkReached:
    """What was sent before a mark was played, or was dropped by `clear`."""

    name: str


@dataclass(frozen=True, slots=True)
class Flow:
    """Whether audio may be sent: the vendor's queue is full, or is so no longer."""

    may_send: bool


@dataclass(frozen=True, slots=True)
class Stopped:
    """The call is over, or its audio is."""


@dataclass(frozen=True, slots=True)
class Other:
    """Nothing that matters here."""


Message = Started | Audio | Digit | MarkReached | Flow | Stopped | Other
