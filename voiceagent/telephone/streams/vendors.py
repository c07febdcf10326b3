"""The vendors that carry telephone calls to us over a WebSocket, as data: their dialect, their webhook and how they sign it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from voiceagent.telephone.messages import AudioFormat, Encoding
from voiceagent.telephone.streams import answers, signatures
from voiceagent.telephone.streams.answers import JAMBONZ, PLIVO, TWIML, TransferAnswers
from voiceagent.telephone.streams.asterisk_stream import AsteriskStream
from voiceagent.telephone.streams.binary_stream import JambonzStream, VonageStream
from voiceagent.telephone.streams.json_stream import FieldMap, JsonStream
from voiceagent.telephone.streams.stream import Stream


@dataclass(frozen=True, slots=True)
class Vendor:
    """A vendor and its dialect."""

    secret: str
    """The environment variable with the secret that signs its webhooks."""
    check: signatures.Check
    answer: answers.Answer | None
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
        "twilio": Vendor(
            "VOICEAGENT_TWILIO_TOKEN", signatures.twilio, answers.twiml, lambda: JsonStream(_TWILIO), transfer=TWIML
        ),
        "signalwire": Vendor(
            "VOICEAGENT_SIGNALWIRE_KEY", signatures.signalwire, answers.twiml, lambda: JsonStream(_TWILIO), transfer=TWIML
        ),
        "telnyx": Vendor(
            "VOICEAGENT_TELNYX_PUBLIC_KEY",
            signatures.telnyx,
            answers.texml,
            lambda: JsonStream(_TELNYX),
            signs_query=False,
            transfer=TWIML,
        ),
        "plivo": Vendor(
            "VOICEAGENT_PLIVO_TOKEN",
            signatures.plivo,
            answers.plivo_xml,
            lambda: JsonStream(_PLIVO),
            call_id="CallUUID",
            transfer=PLIVO,
            signs_nonce=True,
        ),
        "exotel": Vendor(
            "VOICEAGENT_EXOTEL_PASSWORD",
            signatures.basic,
            answers.exotel_url,
            lambda: JsonStream(_EXOTEL),
            caller="CallFrom",
            called="CallTo",
            chunk_frames=5,
            is_password=True,
        ),
        "vonage": Vendor(
            "VOICEAGENT_VONAGE_SECRET",
            signatures.vonage,
            answers.ncco,
            VonageStream,
            caller="from",
            called="to",
            call_id="uuid",
            signs_query=False,
        ),
        "jambonz": Vendor(
            "VOICEAGENT_JAMBONZ_SECRET",
            signatures.jambonz,
            answers.listen,
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
