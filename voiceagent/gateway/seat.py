"""The seat of a worker process, which the one that starts it names in an environment variable of its own: its number, its
share, and the sockets. It is taken out of the environment, so that programs which a tool starts do not see it."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from dataclasses import replace
from typing import Annotated
from urllib.parse import urlsplit

import msgspec

from voiceagent.errors import ConfigError
from voiceagent.gateway.link import FrontLink
from voiceagent.gateway.messages import Hello
from voiceagent.gateway.shared_quotas import WorkerQuotas
from voiceagent.server.calls.call_ids import MAX_WORKER
from voiceagent.server.http.app import Service
from voiceagent.server.http.behind_front import UNIX, BehindFront
from voiceagent.settings.agent import QuotaSettings

VARIABLE = "VOICEAGENT_WORKER"


class WorkerSeat(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One worker."""

    number: Annotated[int, msgspec.Meta(ge=1, le=MAX_WORKER)]
    of: Annotated[int, msgspec.Meta(ge=1, le=MAX_WORKER)]
    """The number of workers that share the language model's memory."""
    address: str
    """The address where it takes HTTP: `unix:PATH`, or `http://HOST:PORT` (port 0: any free one)."""
    fronts: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    """The address where each front takes links: `unix:PATH`, or `http://HOST:PORT`."""
    parent: int = 0
    """The process that starts it."""
    has_lines: bool = True
    """True if it keeps the lines to a trunk or PBX, of which a server has one."""
    key: str = ""
    """The cluster's key, for addresses of TCP."""
    region: str = ""
    """The label of the place where it runs."""

    @property
    def host(self) -> str:
        """The host of an address of TCP; empty for a UNIX socket."""
        return "" if self.address.startswith(UNIX) else urlsplit(self.address).hostname or ""

    @property
    def port(self) -> int:
        """Its port."""
        return 0 if self.address.startswith(UNIX) else urlsplit(self.address).port or 0

    def written(self) -> str:
        """As `taken_from` reads it."""
        return msgspec.json.encode(self).decode()


def taken_from(environment: MutableMapping[str, str] = os.environ) -> WorkerSeat | None:
    """The seat of this process, which then is in its environment no more; None: it is no worker. Raises ConfigError."""
    text = environment.pop(VARIABLE, "")
    if not text:
        return None
    try:
        return msgspec.json.decode(text, type=WorkerSeat)
    except ValueError as error:
        raise ConfigError(f"${VARIABLE} is set by `voiceagent serve --workers` alone ({error}); unset it") from error


def seated(service: Service, seat: WorkerSeat, quotas: QuotaSettings) -> tuple[Service, FrontLink]:
    """The service as a worker has it, and its links to the fronts: it takes requests of the front alone, and the front counts
    what clients take. Raises ConfigError for an address of TCP without a key."""
    if not seat.key and not all(address.startswith(UNIX) for address in (seat.address, *seat.fronts)):
        raise ConfigError(f"${VARIABLE}: a worker at {seat.address} needs the cluster's key")
    shared = WorkerQuotas(quotas)
    link = FrontLink(seat.fronts, Hello(seat.number, seat.address, seat.region, seat.key), shared, seat.parent)
    front = BehindFront(seat.address, seat.key)
    return replace(service, front=front, quotas=shared, parts=(link, *service.parts)), link
