"""The `telephony:` part of `agent.yaml`: which vendors bring telephone calls, and at which address they reach us."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated
from urllib.parse import urlsplit

import msgspec

from voiceagent.addresses import check_address
from voiceagent.errors import ConfigError
from voiceagent.telephony.policies import HumanSettings, RecordingSettings, ResultSettings, VoicemailSettings
from voiceagent.telephony.sip_settings import SipSettings
from voiceagent.telephony.transfers import check_transfers, with_shared
from voiceagent.telephony.vendors import VENDORS, Vendor

MAX_PORT = 65_535
MIN_PASSWORD_CHARACTERS = 16
"""The shortest password that any machine may try, as for a server's key."""


class TelephonySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No telephone unless configured."""

    vendors: tuple[str, ...] = ()
    """Some of `twilio`, `signalwire`, `telnyx`, `plivo`, `exotel`, `vonage`, `jambonz`, `asterisk`."""
    url: str = ""
    """Where the vendors reach this server, such as https://voice.example.org. Their signatures cover it."""
    own_numbers: tuple[str, ...] = ()
    """Your own telephone numbers. A call from one of them is a call that you made."""
    sip: SipSettings | None = None
    """A trunk or PBX, reached through Janus."""

    audiosocket: str = ""
    """Where to listen for Asterisk's AudioSocket, such as 127.0.0.1:9092. Empty: nowhere."""
    audiosocket_peers: tuple[str, ...] = ()
    """The addresses that may connect there; required unless it is loopback."""
    transfers: Mapping[str, str] = {}
    """To whom calls may be transferred, by the name that the agent is told: `sales: "+15550100"`, or a SIP address. This works
    for `sip` and for some vendors; see docs/phone-calls.md."""
    send_keys: bool = False
    """Whether the agent may press keys, as a tool, on SIP and Plivo: for menus of those whom it calls."""
    human: HumanSettings = HumanSettings()
    """To whom a caller is put through who asks for a person."""
    recording: RecordingSettings = RecordingSettings()
    """Whether calls are recorded, and how."""
    gain_db: Annotated[float, msgspec.Meta(ge=-30, le=20)] = 0.0
    """By how much the agent's voice is louder on telephones than it was synthesised. Its peaks stay below full scale. 0: as it
    was synthesised."""
    collect_digits: bool = False
    """Whether the agent has the tool of that name, which says how the number that it asks for ends."""
    voicemail: VoicemailSettings = VoicemailSettings()
    """What happens if an answering machine takes a call that we made."""
    results: ResultSettings = ResultSettings()
    """Who is told how a call went."""

    def __post_init__(self) -> None:
        audiosocket_of(self)
        self._check_transfers()
        unknown = next((name for name in self.vendors if name not in VENDORS), None)
        if unknown is not None:
            raise ValueError(f"vendors has {unknown[:40]!r}, expected some of {', '.join(VENDORS)}")
        if not self.url and any(VENDORS[name].answer for name in self.vendors):
            raise ValueError("url is empty, expected where the vendors reach this server, such as https://voice.example.org")
        if self.url:
            try:
                check_address(self.url, query=False, secrets_go="a vendor's secret goes into its environment variable")
            except ValueError as error:
                raise ValueError(f"url {error}") from error

    @property
    def sip_line(self) -> SipSettings | None:
        """`sip`, with what all lines share."""
        return None if self.sip is None else with_shared(self.sip, self.transfers, send_keys=self.send_keys)

    def _check_transfers(self) -> None:
        check_transfers(self.transfers)
        name, known = self.human.transfer, {**self.transfers, **(self.sip.transfers if self.sip is not None else {})}
        if name and name not in known:
            raise ValueError(
                f"human.transfer is {name[:60]!r}, expected one of transfers: {', '.join(known) or 'there are none'}"
            )
        if name and self.recording.may_refuse and self.human.key == self.recording.refuse_key:
            raise ValueError(f"recording.refuse_key is {self.human.key!r}, and so is human.key; expected another one")
        able = [vendor for vendor in self.vendors if vendor in VENDORS and VENDORS[vendor].follow_up is not None]
        if name and able and name not in self.transfers:
            raise ValueError(f"human.transfer is {name[:60]!r}, which only sip knows; expected one of transfers")
        if (self.transfers or name) and self.sip is None and not able:
            can = ", ".join(vendor for vendor, how in VENDORS.items() if how.follow_up is not None)
            raise ValueError(f"transfers needs a line that can transfer: sip, or a vendor of {can}")


@dataclass(frozen=True, slots=True)
class AudioSocket:
    """A listener."""

    host: str
    port: int
    peers: tuple[str, ...] = ()


def audiosocket_of(settings: TelephonySettings) -> AudioSocket | None:
    """The listener that is configured. Raises ValueError, whose text begins with the setting's name."""
    if not settings.audiosocket:
        return None
    host, _, port = settings.audiosocket.rpartition(":")
    try:
        address = ipaddress.ip_address(host.strip("[]"))
        peers = tuple(str(ipaddress.ip_address(peer)) for peer in settings.audiosocket_peers)
        listener = AudioSocket(str(address), int(port), peers)
        if not 0 <= listener.port <= MAX_PORT:
            raise ValueError(f"no port {listener.port}")
    except ValueError as error:
        raise ValueError(
            f"audiosocket is {settings.audiosocket[:60]!r} for {', '.join(settings.audiosocket_peers)[:60] or 'all'}, "
            "expected an IP address with a port such as 127.0.0.1:9092, and IP addresses as audiosocket_peers"
        ) from error
    if not address.is_loopback and not peers:
        raise ValueError(
            f"audiosocket is {settings.audiosocket[:60]!r}, where any machine could call; name Asterisk's in audiosocket_peers"
        )
    return listener


@dataclass(frozen=True, slots=True)
class Line:
    """A vendor that is configured."""

    name: str
    vendor: Vendor
    secret: str


@dataclass(frozen=True, slots=True)
class Telephone:
    """All lines, and the address at which vendors reach us."""

    lines: Mapping[str, Line]
    url: str
    """The server's address, without a slash at its end."""
    audiosocket: AudioSocket | None = None
    own_numbers: tuple[str, ...] = ()
    transfers: Mapping[str, str] = field(default_factory=dict)
    """To whom calls may be transferred: a number or a SIP address, by name."""

    @classmethod
    def from_settings(cls, settings: TelephonySettings, environment: Mapping[str, str] = os.environ) -> Telephone:
        """Raises ConfigError for a vendor without its secret."""
        lines: dict[str, Line] = {}
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
            lines[name] = Line(name, vendor, secret)
        own_numbers, transfers = settings.own_numbers, settings.transfers
        return cls(lines, settings.url.rstrip("/"), audiosocket_of(settings), own_numbers, transfers)

    def stream_url(self, path: str) -> str:
        """The WebSocket address of a path of ours."""
        parts = urlsplit(self.url)
        scheme = "wss" if parts.scheme == "https" else "ws"
        return f"{scheme}://{parts.netloc}{parts.path}{path}"


NO_TELEPHONE = Telephone({}, "")
