"""The `telephony:` part of `agent.yaml`: who brings telephone calls, and under which address they reach us."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import msgspec

from voiceagent.addresses import check_address
from voiceagent.errors import ConfigError
from voiceagent.telephony.vendors import VENDORS, Vendor


class TelephonySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No telephone unless configured."""

    vendors: tuple[str, ...] = ()
    """Of `twilio`, `signalwire`, `telnyx`, `plivo`, `exotel`, `vonage`, `jambonz`."""
    url: str = ""
    """Where they reach this server, such as https://voice.example.org: what their signatures are made over."""

    def __post_init__(self) -> None:
        unknown = next((name for name in self.vendors if name not in VENDORS), None)
        if unknown is not None:
            raise ValueError(f"vendors has {unknown[:40]!r}, expected some of {', '.join(VENDORS)}")
        if self.vendors and not self.url:
            raise ValueError("url is empty, expected where the vendors reach this server, such as https://voice.example.org")
        if self.url:
            try:
                check_address(self.url, query=False, secrets_go="a vendor's secret goes into its environment variable")
            except ValueError as error:
                raise ValueError(f"url {error}") from error


@dataclass(frozen=True, slots=True)
class Line:
    """A vendor that is configured."""

    name: str
    vendor: Vendor
    secret: str


@dataclass(frozen=True, slots=True)
class Telephone:
    """All lines, and where they lead."""

    lines: Mapping[str, Line]
    url: str
    """Without a slash at its end."""

    @classmethod
    def from_settings(cls, settings: TelephonySettings, environment: Mapping[str, str] = os.environ) -> Telephone:
        """Raises ConfigError for a vendor without its secret."""
        lines: dict[str, Line] = {}
        for name in settings.vendors:
            vendor = VENDORS[name]
            secret = environment.get(vendor.secret, "").strip()
            if not secret:
                raise ConfigError(
                    f"telephony.vendors: {name} needs ${vendor.secret}, by which its webhooks are checked; see docs/telephony.md"
                )
            lines[name] = Line(name, vendor, secret)
        return cls(lines, settings.url.rstrip("/"))

    def stream_url(self, path: str) -> str:
        """The WebSocket address of a path of ours."""
        parts = urlsplit(self.url)
        scheme = "wss" if parts.scheme == "https" else "ws"
        return f"{scheme}://{parts.netloc}{parts.path}{path}"


NO_TELEPHONE = Telephone({}, "")
