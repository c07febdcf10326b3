"""The `telephony:` part of `agent.yaml`: which vendors bring telephone calls, at which address they reach us, the line to a SIP
trunk or PBX, and what happens in a call."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec

from voiceagent.addresses import check_address

_URI = re.compile(r"sips?:([A-Za-z0-9\-_.!~*'()&=+$,;?/%#]+@)?[A-Za-z0-9.\-\[\]:]+(;[A-Za-z0-9=.\-_]+)*")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9 _-]{0,39}")
"""The name of somebody whom calls are transferred to."""
MAX_URI_CHARACTERS = 256
MIN_LINES_OF_A_WARM_TRANSFER = 2


def check_uri(uri: str, name: str, example: str) -> str:
    """The address. Raises ValueError, whose text begins with the setting's name."""
    if len(uri) > MAX_URI_CHARACTERS or not _URI.fullmatch(uri):
        raise ValueError(f"{name} is {uri[:80]!r}, expected a SIP address such as {example}")
    return uri


class TransferTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Somebody to whom the agent may transfer a call."""

    to: str
    """A SIP address."""
    kind: Literal["blind", "warm"] = "blind"
    """`blind`: the caller's side calls them (REFER). `warm`: we call them, tell them what the caller wants, and join both."""
    ring_timeout_s: Annotated[float, msgspec.Meta(gt=0, le=120)] = 20.0
    """The longest that a warm transfer rings. Then nobody has answered, and the caller is with the agent again."""
    accept_key: Annotated[str, msgspec.Meta(pattern="^[0-9]?$")] = ""
    """The key that takes the call of a warm transfer; any other declines it. Empty: a colleague who has heard the summary has
    taken the call."""


class CallWebhookSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The operator's program, which decides over each call that comes in."""

    url: str
    """The address that gets a POST while a call rings."""
    secret_env: str = "VOICEAGENT_WEBHOOK_SECRET"
    """The environment variable that holds the secret by which it is signed."""
    accept_timeout_s: Annotated[float, msgspec.Meta(gt=0, le=120)] = 20.0
    """The longest that a call rings. If nobody has accepted it by then, it is refused."""

    def __post_init__(self) -> None:
        try:
            check_address(self.url, secrets_go="webhooks are signed by a secret that secret_env names")
        except ValueError as error:
            raise ValueError(f"url {error}") from error
        _check_variable("secret_env", self.secret_env)


class SipSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No SIP unless configured."""

    account: str
    """Our address at the trunk or PBX, such as `sip:agent@pbx.example.org`."""
    gateway: str = "ws://127.0.0.1:8188"
    """The address of Janus' WebSocket API."""
    gateway_secret_env: str = "VOICEAGENT_JANUS_SECRET"
    """The environment variable that holds Janus' `api_secret`; it may be unset where Janus has none."""
    proxy: str = ""
    """The address at which to register and to which calls are sent, such as `sip:192.0.2.7:5060`; empty: the account's host."""
    user: str = ""
    """The user name by which the account is authenticated; empty: the part before its @."""
    password_env: str = "VOICEAGENT_SIP_PASSWORD"
    """The environment variable that holds its password; unset: none is used."""
    display_name: str = ""
    """The name that phones show when the agent calls."""
    register: bool = True
    """False: a trunk that knows us by our address. Then calls go out and none come in."""
    expires_s: Annotated[int, msgspec.Meta(ge=10, le=7200)] = 120
    """The time for which a registration is valid; it is renewed before."""
    calls: Annotated[int, msgspec.Meta(ge=1, le=100)] = 4
    """Calls at once, in and out; another one hears busy."""
    ring_timeout_s: Annotated[float, msgspec.Meta(gt=0, le=300)] = 45.0
    """A call that we make and nobody takes is given up."""
    comfort_noise_dbov: Annotated[float, msgspec.Meta(ge=-70, le=-45)] | None = None
    """The level of the noise that callers hear while nobody speaks, such as -65; null: silence."""
    transfers: Mapping[str, str | TransferTarget] = {}
    """The people to whom the agent may transfer a call, by the name for the agent: `sales: sip:200@pbx.example.org`. An address
    alone is a blind transfer."""
    send_keys: bool = False
    """True if the agent may press keys, as a tool: for menus of those whom it calls."""
    webhook: CallWebhookSettings | None = None
    """The program that accepts and rejects calls that come in; null: the agent answers them all."""

    def __post_init__(self) -> None:
        check_uri(self.account, "account", "sip:agent@pbx.example.org")
        if "@" not in self.account:
            raise ValueError(f"account is {self.account!r}, expected one with a user, such as sip:agent@pbx.example.org")
        if self.proxy:
            check_uri(self.proxy, "proxy", "sip:192.0.2.7:5060")
        _check_gateway(self.gateway)
        for name, target in self.targets.items():
            if not NAME.fullmatch(name):
                raise ValueError(f"transfers has {name[:60]!r}, expected a name of at most 40 letters, digits and spaces")
            check_uri(target.to, f"transfers.{name}", "sip:200@pbx.example.org")
        if self.longest_ring_s and self.calls < MIN_LINES_OF_A_WARM_TRANSFER:
            raise ValueError(f"calls is {self.calls}, expected at least 2: a warm transfer takes two lines")
        for name in ("gateway_secret_env", "password_env"):
            _check_variable(name, getattr(self, name))

    @property
    def targets(self) -> dict[str, TransferTarget]:
        """`transfers`, each with its kind."""
        return {name: TransferTarget(each) if isinstance(each, str) else each for name, each in self.transfers.items()}

    @property
    def longest_ring_s(self) -> float:
        """The longest that any warm transfer rings; 0 where there are none."""
        return max((target.ring_timeout_s for target in self.targets.values() if target.kind == "warm"), default=0.0)


def _check_variable(name: str, variable: str) -> None:
    if not re.fullmatch(VARIABLE, variable):  # it may be the secret itself
        raise ValueError(f"{name} names no environment variable; put the secret into one and name that")


def _check_gateway(url: str) -> None:
    try:
        parts = urlsplit(url)
        is_fine = parts.scheme in ("ws", "wss") and bool(parts.hostname) and "@" not in parts.netloc and parts.port != 0
    except ValueError:
        is_fine = False
    if not is_fine:
        raise ValueError("gateway is no WebSocket address without a password; expected one such as ws://127.0.0.1:8188")


VENDORS = ("twilio", "signalwire", "telnyx", "plivo", "exotel", "vonage", "jambonz", "asterisk")
WITHOUT_WEBHOOK = frozenset({"asterisk"})
"""The vendors whose streams come at once."""
TRANSFERRING = ("twilio", "signalwire", "telnyx", "plivo", "jambonz")
"""The vendors that ask what follows a stream, so that their calls can be transferred."""
MAX_PORT = 65_535
VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"
NUMBER = re.compile(r"\+[1-9][0-9]{6,14}")
"""A telephone number as E.164 writes it, with its plus sign."""
EXAMPLE = "+15550100 or sip:200@pbx.example.org"


class VoicemailSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The handling of an answering machine that takes a call that we made."""

    action: Literal["none", "hang_up", "leave_message"] = "none"
    """`none`: nothing looks for machines."""
    message: str = ""
    """The message that is left, word for word."""
    wait_for_beep_s: Annotated[float, msgspec.Meta(ge=1, le=120)] = 25.0
    """The time after which a machine that neither beeps nor falls silent gets its message anyway."""
    introduction: str = ""
    """Said to a service that screens calls: who calls, and why. Empty: the language model answers it."""

    def __post_init__(self) -> None:
        if self.action == "leave_message" and not self.message.strip():
            raise ValueError("message is empty, expected what is to be left after the beep")


class HumanSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A caller who asks for a person is transferred to one, without the language model."""

    transfer: str = ""
    """The person's name in `telephony.transfers` or `telephony.sip.transfers`; empty: nobody is transferred."""
    key: Annotated[str, msgspec.Meta(pattern="^[0-9*]?$")] = "0"
    """The key that asks for a person when it is pressed alone; empty: no key does."""


class RecordingSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Calls are recorded. The operator must know the law that they do so under."""

    folder: str = ""
    """The folder of recordings (relative to agent.yaml); empty: nothing is recorded."""
    announcement: str = ""
    """The announcement that the caller hears first, such as "This call is recorded."."""
    format: Literal["wav", "opus"] = "wav"
    """`opus` takes a tenth of the room."""
    keep_days: Annotated[int, msgspec.Meta(ge=1, le=3650)] = 30
    """Older ones are deleted when the server starts, and daily."""
    max_minutes: Annotated[int, msgspec.Meta(ge=1, le=1440)] = 120
    """The rest of a longer call is not recorded."""
    browsers: bool = False
    """True if calls of browsers, and of other clients that come by no telephone, are recorded, too."""
    min_free_mb: Annotated[int, msgspec.Meta(ge=1)] = 500
    """Nothing is recorded while the disk has less room."""
    may_refuse: bool = False
    """True if the caller may have the recording deleted: by the key, or by saying so where the language model can call tools."""
    refuse_key: Annotated[str, msgspec.Meta(pattern="^[0-9*]$")] = "9"
    """The key that does it when it is pressed alone."""

    def __post_init__(self) -> None:
        if self.browsers and not self.folder:
            raise ValueError("browsers is true, and folder is empty; expected where recordings are kept")
        if self.folder and not self.announcement.strip():
            raise ValueError("announcement is empty, expected what callers are told before they are recorded")


class ResultSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The report of a telephone call's result."""

    url: str = ""
    """The address that gets a POST once a call is over; empty: none."""
    secret_env: Annotated[str, msgspec.Meta(pattern=VARIABLE)] = "VOICEAGENT_RESULTS_SECRET"
    """The environment variable that holds the secret by which a result is signed."""
    transcript: bool = False
    """True if the result holds the transcript."""

    def __post_init__(self) -> None:
        if self.url:
            try:
                check_address(self.url, secrets_go="results are signed by a secret that secret_env names")
            except ValueError as error:
                raise ValueError(f"url {error}") from error


class TelephonySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No telephone unless configured."""

    vendors: tuple[str, ...] = ()
    """Some of `twilio`, `signalwire`, `telnyx`, `plivo`, `exotel`, `vonage`, `jambonz`, `asterisk`."""
    url: str = ""
    """The address at which the vendors reach this server, such as https://voice.example.org. Their signatures cover it."""
    own_numbers: tuple[str, ...] = ()
    """Your own telephone numbers. A call from one of them is a call that you made."""
    sip: SipSettings | None = None
    """A trunk or PBX, reached through Janus."""

    audiosocket: str = ""
    """The address on which to listen for Asterisk's AudioSocket, such as 127.0.0.1:9092. Empty: none."""
    audiosocket_peers: tuple[str, ...] = ()
    """The addresses that may connect there; required unless it is loopback."""
    transfers: Mapping[str, str] = {}
    """The people to whom calls may be transferred, by the name for the agent: `sales: "+15550100"`, or a SIP address. This works
    for `sip` and for some vendors; see docs/phone-calls.md."""
    send_keys: bool = False
    """True if the agent may press keys, as a tool, on SIP and Plivo: for menus of those whom it calls."""
    human: HumanSettings = HumanSettings()
    """The person to whom a caller is transferred who asks for one."""
    recording: RecordingSettings = RecordingSettings()
    """The recording of calls, also of browsers; off without a folder."""
    gain_db: Annotated[float, msgspec.Meta(ge=-30, le=20)] = 0.0
    """The gain of the agent's voice on telephones over its synthesis. Its peaks stay below full scale. 0: as it was
    synthesised."""
    collect_digits: bool = False
    """True if the agent has the tool of that name, which sets the end of the number that it asks for."""
    voicemail: VoicemailSettings = VoicemailSettings()
    """The handling of an answering machine that takes a call that we made."""
    results: ResultSettings = ResultSettings()
    """The report of a call's result."""

    def __post_init__(self) -> None:
        audiosocket_of(self)
        self._check_transfers()
        unknown = next((name for name in self.vendors if name not in VENDORS), None)
        if unknown is not None:
            raise ValueError(f"vendors has {unknown[:40]!r}, expected some of {', '.join(VENDORS)}")
        if not self.url and any(name not in WITHOUT_WEBHOOK for name in self.vendors):
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
        able = [vendor for vendor in self.vendors if vendor in TRANSFERRING]
        if name and able and name not in self.transfers:
            raise ValueError(f"human.transfer is {name[:60]!r}, which only sip knows; expected one of transfers")
        if (self.transfers or name) and self.sip is None and not able:
            raise ValueError(f"transfers needs a line that can transfer: sip, or a vendor of {', '.join(TRANSFERRING)}")


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


def check_transfers(transfers: Mapping[str, str]) -> None:
    """Raises ValueError, whose text begins with the setting's name."""
    for name, target in transfers.items():
        if not NAME.fullmatch(name):
            raise ValueError(f"transfers has {name[:60]!r}, expected a name of at most 40 letters, digits and spaces")
        if not NUMBER.fullmatch(target):
            check_uri(target, f"transfers.{name}", EXAMPLE)


def with_shared(settings: SipSettings, shared: Mapping[str, str], *, send_keys: bool) -> SipSettings:
    """A SIP line's settings with what all lines may do: press keys, and transfer to these. Its own go before; a number is one
    of the account's host."""
    host = re.split("[;?]", settings.account.rpartition("@")[2])[0]
    uris = {name: f"sip:{target}@{host}" if NUMBER.fullmatch(target) else target for name, target in shared.items()}
    own = {**uris, **settings.transfers}
    return msgspec.structs.replace(settings, transfers=own, send_keys=settings.send_keys or send_keys)
