"""The messages between a worker and the process in front, one JSON object a line over a private socket. A worker introduces
itself, tells how it stands, and asks for places of its clients' quotas, which only the front can count over all workers."""

from __future__ import annotations

from typing import Literal

import msgspec

from voiceagent.server.access.key_file import NO_LIMITS, KeyLimits

MAX_LINE_BYTES = 65_536
STATUS_EVERY_S = 0.5


class Hello(msgspec.Struct, frozen=True, tag="hello"):
    """A worker's first message."""

    number: int
    address: str
    """The address where it takes HTTP: `unix:PATH`, or `http://HOST:PORT`."""
    region: str = ""
    """The label of the place where it runs."""
    key: str = ""
    """The cluster's key, where the link is over TCP."""


class WorkerStatus(msgspec.Struct, frozen=True, tag="status"):
    """The state of a worker."""

    phase: Literal["loading", "ready", "draining"] = "loading"
    """`loading`: it has no calls. `draining`: it takes no new ones."""
    reason: str = "The engines are being loaded."
    """The reason for which no call is answered; empty when calls are."""
    calls: int = 0
    places: int = 0
    """The most calls that it carries."""
    waiting: int = 0
    """Callers who wait for a place."""
    pressure: float = 0.0
    """The pressure on its event loop; from 1 on it takes no more calls."""
    sheds: int = 0
    """Steps by which missed latency budgets lower its calls; 0: none."""
    degraded: tuple[str, ...] = ()
    """The things that its calls go without to keep the budgets."""


class QuotaClient(msgspec.Struct, frozen=True):
    """The client of a call, as far as its quota is concerned."""

    name: str
    key_id: str = ""
    limits: KeyLimits = NO_LIMITS


class TakePlace(msgspec.Struct, frozen=True, tag="take"):
    """A call of this client is about to begin. It is answered by `Granted` or `Refused`."""

    place: int
    """The worker's own number for it."""
    client: QuotaClient
    again: bool = False
    """It has had a place, at this worker or another: it gets one in any case."""


class IsFull(msgspec.Struct, frozen=True, tag="is_full"):
    """Asks whether the client has as many calls as it may. It is answered by `Told`."""

    ask: int
    client: QuotaClient


class ConnectPlace(msgspec.Struct, frozen=True, tag="connect"):
    """The call is about to be answered. It is answered by `Told` or `Refused`, perhaps after a wait."""

    ask: int
    place: int


class PlaceConnected(msgspec.Struct, frozen=True, tag="connected"):
    """Media flow."""

    place: int


class ChargePlace(msgspec.Struct, frozen=True, tag="charge"):
    """Asks whether the client has minutes left. It is answered by `Told`."""

    ask: int
    place: int


class ReleasePlace(msgspec.Struct, frozen=True, tag="release"):
    """The call is over, or was not begun."""

    place: int


class Granted(msgspec.Struct, frozen=True, tag="granted"):
    """The place is taken."""

    ask: int
    """The number of the place."""
    has_minutes: bool
    """True if the client's minutes are limited."""


class Told(msgspec.Struct, frozen=True, tag="told"):
    """An answer."""

    ask: int
    yes: bool


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """Refuses what was asked for, as `Problem` says it."""

    ask: int
    status: int
    code: str
    message: str
    param: str | None = None
    retry_after_s: int | None = None


ToFront = Hello | WorkerStatus | TakePlace | IsFull | ConnectPlace | PlaceConnected | ChargePlace | ReleasePlace
ToWorker = Granted | Told | Refused

_ENCODER = msgspec.json.Encoder()
_TO_FRONT: msgspec.json.Decoder[ToFront] = msgspec.json.Decoder(ToFront)
_TO_WORKER: msgspec.json.Decoder[ToWorker] = msgspec.json.Decoder(ToWorker)


def line_of(message: ToFront | ToWorker) -> bytes:
    """The message as a line."""
    return _ENCODER.encode(message) + b"\n"


def read_to_front(line: bytes) -> ToFront:
    """A worker's message. Raises ValueError."""
    return _TO_FRONT.decode(line)


def read_to_worker(line: bytes) -> ToWorker:
    """The front's message. Raises ValueError."""
    return _TO_WORKER.decode(line)
