"""The vendors that carry telephone calls to us over a WebSocket, as data: their dialect, their webhook, how they sign it, and
the answers that they expect: stream the call's audio to us, both ways; and, once the stream has ended, dial somebody for a
transfer, or hang up. Those that are configured are the lines of a server; each has its secret."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from urllib.parse import urlsplit
from xml.sax.saxutils import escape, quoteattr

from voiceagent.errors import ConfigError
from voiceagent.server.http.slowing import REFUSAL_LIMITS, RefusalLimits
from voiceagent.settings.telephone import AudioSocket, TelephonySettings, audiosocket_of
from voiceagent.telephone.messages import AudioFormat, Encoding, Stream
from voiceagent.telephone.streams import signatures
from voiceagent.telephone.streams.dialects import AsteriskStream, FieldMap, JambonzStream, JsonStream, VonageStream

# --- answers to webhooks ----------------------------------------------------------------------------------------------

XML, JSON = "application/xml", "application/json"
Answer = Callable[[str, str], tuple[str, str]]
"""Makes the content type and the body from the stream's address and the address that is asked what follows the stream. Without
the second (empty), the stream's end is the call's."""

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


def twiml(url: str, after: str) -> tuple[str, str]:
    """Twilio's TwiML and SignalWire's cXML: `<Connect>`, which streams both ways; at the stream's end `action` is asked."""
    action = f" action={quoteattr(after)}" if after else ""
    return XML, f"{_HEAD}<Response><Connect{action}><Stream url={quoteattr(url)}/></Connect></Response>"


def texml(url: str, after: str) -> tuple[str, str]:
    """Telnyx' TeXML, whose verbs are run in order. Without `bidirectionalMode="rtp"` it plays whole MP3 files only."""
    attributes = f'url={quoteattr(url)} codec="PCMU" bidirectionalMode="rtp" bidirectionalCodec="PCMU"'
    return XML, f"{_HEAD}<Response><Connect><Stream {attributes}/></Connect>{_redirect(after)}</Response>"


def plivo_xml(url: str, after: str) -> tuple[str, str]:
    """Plivo's `<Stream>`. Plivo runs the elements behind it once the stream has ended, because `keepCallAlive` is set."""
    attributes = 'bidirectional="true" keepCallAlive="true" contentType="audio/x-mulaw;rate=8000"'
    return XML, f"{_HEAD}<Response><Stream {attributes}>{escape(url)}</Stream>{_redirect(after)}</Response>"


def exotel_url(url: str, after: str) -> tuple[str, str]:
    """The answer that Exotel's Voicebot applet expects."""
    return _json({"url": url})


def ncco(url: str, after: str) -> tuple[str, str]:
    """Vonage's call control object."""
    endpoint = {"type": "websocket", "uri": url, "content-type": "audio/l16;rate=16000"}
    return _json([{"action": "connect", "endpoint": [endpoint]}])


def listen(url: str, after: str) -> tuple[str, str]:
    """jambonz' `listen`; at its end `actionHook` is asked. Without `streaming` it plays whole files only."""
    both_ways = {"enabled": True, "streaming": True, "sampleRate": 16_000}
    verb = {"verb": "listen", "url": url, "mixType": "mono", "sampleRate": 16_000, "passDtmf": True}
    hook = {"actionHook": after} if after else {}
    return _json([{**verb, "bidirectionalAudio": both_ways, **hook}])


def _redirect(after: str) -> str:
    return f"<Redirect>{escape(after)}</Redirect>" if after else ""


def _json(value: object) -> tuple[str, str]:
    return JSON, json.dumps(value)


RINGS_S = 30
"""The longest that a dialled person's telephone rings."""
TAKEN = frozenset(("completed", "answered"))
"""Outcomes of dialling after which the call is over: somebody has talked with the caller."""


@dataclass(frozen=True, slots=True)
class TransferAnswers:
    """The answers of one vendor's transfer."""

    dial: Callable[[str, str], tuple[str, str]]
    """Makes the content type and the body from a number or SIP address, and the address to which the outcome is reported."""
    hang_up: tuple[str, str]
    outcome: str
    """The field that holds the outcome of dialling."""


def _twiml_dial(target: str, after: str) -> tuple[str, str]:
    """TwiML, cXML and TeXML: `action` is asked when the dialled call ends, or was not taken."""
    noun = "Sip" if target.startswith("sip") else "Number"
    dial = f'<Dial action={quoteattr(after)} timeout="{RINGS_S}"><{noun}>{escape(target)}</{noun}></Dial>'
    return XML, f"{_HEAD}<Response>{dial}</Response>"


def _plivo_dial(target: str, after: str) -> tuple[str, str]:
    """Plivo calls SIP addresses users."""
    noun = "User" if target.startswith("sip") else "Number"
    dial = f'<Dial action={quoteattr(after)} method="POST" timeout="{RINGS_S}"><{noun}>{escape(target)}</{noun}></Dial>'
    return XML, f"{_HEAD}<Response>{dial}</Response>"


def _jambonz_dial(target: str, after: str) -> tuple[str, str]:
    """jambonz' `dial`, whose `actionHook` is asked when the dialled call ends, or was not taken."""
    whom = {"type": "sip", "sipUri": target} if target.startswith("sip") else {"type": "phone", "number": target}
    return JSON, json.dumps([{"verb": "dial", "actionHook": after, "timeout": RINGS_S, "target": [whom]}])


_HANG_UP = (XML, f"{_HEAD}<Response><Hangup/></Response>")
TWIML = TransferAnswers(_twiml_dial, _HANG_UP, "DialCallStatus")
PLIVO = TransferAnswers(_plivo_dial, _HANG_UP, "DialStatus")
JAMBONZ = TransferAnswers(_jambonz_dial, (JSON, json.dumps([{"verb": "hangup"}])), "dial_call_status")


@dataclass(frozen=True, slots=True)
class Vendor:
    """A vendor and its dialect."""

    secret: str
    """The environment variable with the secret that signs its webhooks."""
    check: signatures.Check
    answer: Answer | None
    """The answer to its webhook; None if it has none. Then its stream comes at once, and the stream's request is checked."""
    new_stream: Callable[[], Stream]
    caller: str = "From"
    """The names of the webhook's fields."""
    called: str = "To"
    call_id: str = "CallSid"
    chunk_frames: int = 1
    """The number of frames of 20 ms that the vendor wants in a message."""
    protocols: tuple[str, ...] = ()
    """WebSocket subprotocols."""
    transfer: TransferAnswers | None = None
    """The answers to the request for what follows a stream; None where the vendor sends none: its calls cannot be transferred."""
    is_password: bool = False
    """True if the secret is `user:password`, which the operator chose. If not, the vendor made it."""
    signs_query: bool = True
    """True if the query of the webhook's address is signed with a POST, or comes with a password. If not, anybody who has
    captured a webhook may send it to another query."""
    signs_nonce: bool = False
    """True if each webhook is signed with a nonce of its own, also where the vendor sends it again."""


_TWILIO = FieldMap()
_TELNYX = FieldMap(
    stream_id="stream_id",
    names_stream=False,
    call_id=("call_control_id", "call_session_id"),
    media_format="media_format",
    rate="sample_rate",
    parameters="custom_parameters",
)
_PLIVO = FieldMap(
    stream_id="streamId",
    call_id=("callId",),
    parameters="extra_headers",
    play="playAudio",
    play_tells_format=True,
    mark="checkpoint",
    mark_name_inside=False,
    marks_reached=("playedStream", "played"),
    clear="clearAudio",
    send_keys="sendDTMF",
)
_EXOTEL = FieldMap(
    stream_id="stream_sid",
    call_id=("call_sid",),
    media_format="media_format",
    rate="sample_rate",
    parameters="custom_parameters",
    usual=AudioFormat(Encoding.L16, 8_000),
)

VENDORS: Mapping[str, Vendor] = MappingProxyType(
    {
        "twilio": Vendor("VOICEAGENT_TWILIO_TOKEN", signatures.twilio, twiml, lambda: JsonStream(_TWILIO), transfer=TWIML),
        "signalwire": Vendor(
            "VOICEAGENT_SIGNALWIRE_KEY", signatures.signalwire, twiml, lambda: JsonStream(_TWILIO), transfer=TWIML
        ),
        "telnyx": Vendor(
            "VOICEAGENT_TELNYX_PUBLIC_KEY",
            signatures.telnyx,
            texml,
            lambda: JsonStream(_TELNYX),
            signs_query=False,
            transfer=TWIML,
        ),
        "plivo": Vendor(
            "VOICEAGENT_PLIVO_TOKEN",
            signatures.plivo,
            plivo_xml,
            lambda: JsonStream(_PLIVO),
            call_id="CallUUID",
            transfer=PLIVO,
            signs_nonce=True,
        ),
        "exotel": Vendor(
            "VOICEAGENT_EXOTEL_PASSWORD",
            signatures.basic,
            exotel_url,
            lambda: JsonStream(_EXOTEL),
            caller="CallFrom",
            called="CallTo",
            chunk_frames=5,
            is_password=True,
        ),
        "vonage": Vendor(
            "VOICEAGENT_VONAGE_SECRET",
            signatures.vonage,
            ncco,
            VonageStream,
            caller="from",
            called="to",
            call_id="uuid",
            signs_query=False,
        ),
        "jambonz": Vendor(
            "VOICEAGENT_JAMBONZ_SECRET",
            signatures.jambonz,
            listen,
            JambonzStream,
            caller="from",
            called="to",
            call_id="call_sid",
            protocols=("audio.jambonz.org",),
            transfer=JAMBONZ,
            signs_query=False,
        ),
        "asterisk": Vendor(
            "VOICEAGENT_ASTERISK_PASSWORD",
            signatures.basic,
            None,
            AsteriskStream,
            caller="caller",
            called="called",
            call_id="call_id",
            protocols=("media",),
            is_password=True,
        ),
    }
)
"""The vendors by name. The name stands in the settings and in the paths of the routes."""


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


# --- the lines of a server --------------------------------------------------------------------------------------------

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
