"""The vendors that are configured, each with its secret, and the limits of their streams."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from voiceagent.errors import ConfigError
from voiceagent.server.http.slowing import REFUSAL_LIMITS, RefusalLimits
from voiceagent.settings.telephone import AudioSocket, TelephonySettings, audiosocket_of
from voiceagent.telephone.streams.vendors import VENDORS, Vendor


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """The limits of all streams of a server; times are seconds."""

    ticket_s: float = 60.0
    """Longest wait for a stream after its webhook."""
    start_s: float = 10.0
    """Longest wait for the begin of a connection's call."""
    silence_s: float = 20.0
    """The time without a message after which the call is lost. Vendors send silence, too."""
    send_s: float = 8.0
    """The time after which a vendor that reads nothing is gone."""
    hold_s: float = 30.0
    """The time after which a peer that takes no audio has forgotten to report that it does again: its queue is shorter."""
    close_s: float = 2.0
    """Longest wait for the peer when we close. A vendor that reads nothing is cut off after twice that time."""
    starting: int = 32
    """The most AudioSocket connections whose calls have not begun."""
    refusals: RefusalLimits = REFUSAL_LIMITS


STREAM_LIMITS = StreamLimits()


MIN_PASSWORD_CHARACTERS = 16
"""The shortest password that any machine may try, as for a server's key."""


@dataclass(frozen=True, slots=True)
class VendorLine:
    """A vendor that is configured."""

    name: str
    vendor: Vendor
    secret: str


@dataclass(frozen=True, slots=True)
class Telephone:
    """All lines, and the address at which vendors reach us."""

    lines: Mapping[str, VendorLine]
    url: str
    """The server's address, without a slash at its end."""
    audiosocket: AudioSocket | None = None
    own_numbers: tuple[str, ...] = ()
    transfers: Mapping[str, str] = field(default_factory=dict)
    """The people to whom calls may be transferred: a number or a SIP address, by name."""
    limits: StreamLimits = STREAM_LIMITS

    @classmethod
    def from_settings(cls, settings: TelephonySettings, environment: Mapping[str, str] = os.environ) -> Telephone:
        """Raises ConfigError for a vendor without its secret."""
        lines: dict[str, VendorLine] = {}
        for name in settings.vendors:
            vendor = VENDORS[name]
            secret = environment.get(vendor.secret, "").strip()
            if not secret:
                checked = "webhooks" if vendor.answer else "streams"
                raise ConfigError(
                    f"telephony.vendors: {name} needs ${vendor.secret}, by which its {checked} are checked; see docs/telephony.md"
                )
            if vendor.is_password and len(secret.partition(":")[2]) < MIN_PASSWORD_CHARACTERS:
                raise ConfigError(
                    f"${vendor.secret} could be guessed, or is not user:password; expected a password of at least "
                    f"{MIN_PASSWORD_CHARACTERS} characters, such as from: openssl rand -hex 24"
                )
            lines[name] = VendorLine(name, vendor, secret)
        own_numbers, transfers = settings.own_numbers, settings.transfers
        return cls(lines, settings.url.rstrip("/"), audiosocket_of(settings), own_numbers, transfers)

    def stream_url(self, path: str) -> str:
        """The WebSocket address of a path of ours."""
        parts = urlsplit(self.url)
        scheme = "wss" if parts.scheme == "https" else "ws"
        return f"{scheme}://{parts.netloc}{parts.path}{path}"


NO_TELEPHONE = Telephone({}, "")
