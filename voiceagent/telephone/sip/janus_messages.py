"""The requests and events of Janus' SIP plugin as values (https://janus.conf.meetecho.com/docs/sip.html). Pure: this makes
requests and reads messages, and sends nothing. A message that means nothing to us is `Ignored`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from voiceagent.json_types import JsonObject
from voiceagent.telephone.messages import CallFacts

PLUGIN = "janus.plugin.sip"
PROTOCOL = "janus-protocol"
"""The WebSocket's subprotocol."""
NOT_THERE, BUSY, UNAVAILABLE = 480, 486, 503
MAX_FACT_CHARACTERS = 256
_HEADERS = {"P-Asserted-Identity": "asserted_identity", "Diversion": "diversion", "History-Info": "history_info"}
"""Headers by which trunks and PBXs describe an incoming call (RFC 3325, 5806, 7044), each with its name for the agent."""
_OTHER_HEADERS = "X-"
"""Headers of the trunk's own begin so. The operator's webhook gets them."""
MAX_HEADERS = 32
_CODE = re.compile(r"[1-6][0-9]{2}")


@dataclass(frozen=True, slots=True)
class Request:
    """A message to the plugin, and the session description that goes with it."""

    body: JsonObject
    sdp: str = ""
    kind: Literal["", "offer", "answer"] = ""

    @property
    def fields(self) -> JsonObject:
        """The message as Janus takes it, but for session, handle and transaction."""
        fields: JsonObject = {"janus": "message", "body": dict(self.body)}
        return {**fields, "jsep": {"type": self.kind, "sdp": self.sdp}} if self.sdp else fields


@dataclass(frozen=True, slots=True)
class Account:
    """Our account at the trunk or PBX."""

    uri: str
    """The address of record, such as `sip:agent@pbx.example.org`."""
    user: str
    """The user name for authentication."""
    password: str = field(repr=False)
    proxy: str = ""
    """The registrar, if it is not the address' host."""
    display_name: str = ""
    expires_s: int = 120
    registers: bool = True


def register(account: Account, *, again: bool = False) -> Request:
    """Register. With `again`, register even if Janus believes that we are registered."""
    body: JsonObject = {
        "request": "register",
        "username": account.uri,
        "authuser": account.user,
        "secret": account.password,
        "display_name": account.display_name,
        "send_register": account.registers,
        "register_ttl": account.expires_s,
        "incoming_header_prefixes": [*_HEADERS, _OTHER_HEADERS],
        "refresh": again,
    }
    if account.proxy:
        body["proxy"] = account.proxy
    if not account.password:
        del body["secret"], body["authuser"]
    return Request(body)


def register_helper(account: Account, master_id: int) -> Request:
    """Another handle for calls of the same account."""
    return Request({"request": "register", "type": "helper", "username": account.uri, "master_id": master_id})


def call(uri: str, sdp: str) -> Request:
    """Call somebody."""
    return Request({"request": "call", "uri": uri, "autoaccept_reinvites": False}, sdp, "offer")


def accept(sdp: str) -> Request:
    """Take the call that rings."""
    return Request({"request": "accept", "autoaccept_reinvites": False}, sdp, "answer")


def update(sdp: str) -> Request:
    """Answer a re-INVITE."""
    return Request({"request": "update"}, sdp, "answer")


def decline(code: int) -> Request:
    """Refuse the call that rings."""
    return Request({"request": "decline", "code": code})


def transfer(uri: str) -> Request:
    """Have the other side call somebody instead of us (REFER, RFC 3515)."""
    return Request({"request": "transfer", "uri": uri})


def hang_up() -> Request:
    """End the call, or the attempt at one."""
    return Request({"request": "hangup"})


@dataclass(frozen=True, slots=True)
class Registered:
    """We are registered: calls will come."""

    master_id: int


@dataclass(frozen=True, slots=True)
class SipStatus:
    """A status of SIP's or of Janus', and its text."""

    code: int
    reason: str


class RegistrationFailed(SipStatus):
    """The registration failed or ended: no calls will come."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """Somebody calls."""

    facts: CallFacts
    offer: str
    """Empty where the call came without one."""
    headers: tuple[tuple[str, str], ...] = ()
    """The known headers of the invitation."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The call is up. `answer` is what the callee's side accepted of our offer, or empty: it came before, or we took the call."""

    answer: str


@dataclass(frozen=True, slots=True)
class EarlyMedia:
    """Audio that is heard before the call is taken: ring-back, announcements."""

    answer: str


@dataclass(frozen=True, slots=True)
class Updating:
    """The other side changes the call (re-INVITE): it holds it, takes it up again, or moves its audio."""

    offer: str


class Ended(SipStatus):
    """The call is over, or did not come about; the status is 200 where it was up and was hung up."""


class TransferProgress(SipStatus):
    """Progress of the call that we asked the other side to make (RFC 3515 §2.4.4)."""


class Failed(SipStatus):
    """A request was refused by Janus itself."""


@dataclass(frozen=True, slots=True)
class MediaLost:
    """The WebRTC connection between Janus and us has ended."""


@dataclass(frozen=True, slots=True)
class Ignored:
    """A message that means nothing to us."""


Event = (
    Registered
    | RegistrationFailed
    | Incoming
    | Answered
    | EarlyMedia
    | Updating
    | Ended
    | TransferProgress
    | Failed
    | MediaLost
    | Ignored
)


def read(message: JsonObject) -> Event:
    """An event of a handle."""
    if message.get("janus") == "hangup":
        return MediaLost()
    data = _object(_object(message, "plugindata"), "data")
    if "error" in data:
        return Failed(_number(data, "error_code"), _text(data, "error"))
    result = _object(data, "result")
    sdp = _text(_object(message, "jsep"), "sdp")
    match result.get("event"):
        case "registered":
            return Registered(_number(result, "master_id"))
        case "registration_failed":
            return RegistrationFailed(_number(result, "code"), _text(result, "reason"))
        case "incomingcall":
            return Incoming(_facts(result), sdp, _headers(result))
        case "progress" if sdp:
            return EarlyMedia(sdp)
        case "accepted":
            return Answered(sdp)
        case "updatingcall":
            return Updating(sdp)
        case "hangup":
            return Ended(_number(result, "code"), _text(result, "reason"))
        case "notify" if result.get("notify") == "refer":
            return _transfer_progress(_text(result, "content"))
    return Ignored()


def _facts(result: JsonObject) -> CallFacts:
    """The caller's address and name, and the other facts of the call."""
    name, caller, called, call_id = (_shown(_text(result, key)) for key in ("displayname", "username", "callee", "call_id"))
    headers = _object(result, "headers")
    told = {"caller_name": name} | {known: _shown(_text(headers, header)) for header, known in _HEADERS.items()}
    return CallFacts(caller, called, call_id, {known: value for known, value in told.items() if value})


def _headers(result: JsonObject) -> tuple[tuple[str, str], ...]:
    """The headers of an invitation, as far as Janus tells them."""
    name, caller, called, call_id = (_shown(_text(result, key)) for key in ("displayname", "username", "callee", "call_id"))
    told = {"From": f'"{name}" <{caller}>' if name else f"<{caller}>", "To": f"<{called}>", "Call-ID": call_id}
    more = _object(result, "headers")
    told |= {_shown(header): _shown(value) for header, value in more.items() if isinstance(value, str)}
    return tuple(told.items())[:MAX_HEADERS]


def _shown(text: str) -> str:
    """Text of strangers, made safe for a log."""
    return "".join(filter(str.isprintable, text)).strip('" ')[:MAX_FACT_CHARACTERS]


def _transfer_progress(status_line: str) -> Event:
    """Reads the status line of a message/sipfrag such as `SIP/2.0 486 Busy Here`."""
    parts = status_line.split(None, 2)
    if len(parts) < 2 or not _CODE.fullmatch(parts[1]):
        return Ignored()
    return TransferProgress(int(parts[1]), parts[2].splitlines()[0].strip() if len(parts) > 2 else "")


def _object(data: JsonObject, name: str) -> JsonObject:
    found = data.get(name)
    return found if isinstance(found, dict) else {}


def _text(data: JsonObject, name: str) -> str:
    found = data.get(name)
    return found if isinstance(found, str) else ""


def _number(data: JsonObject, name: str) -> int:
    found = data.get(name)
    return found if isinstance(found, int) else 0


CALLS = {
    403: "is not to be called by us",
    404: "is an unknown number",
    408: "did not answer: nothing came back in time",
    410: "is an unknown number",
    480: "is not there",
    484: "is an incomplete number",
    486: "is busy",
    487: "did not answer in time",
    488: "speaks neither PCMU nor PCMA",
    503: "cannot be reached: the trunk or PBX is not there or refuses calls",
    600: "is busy",
    603: "declined",
    604: "is an unknown number",
    606: "speaks neither PCMU nor PCMA",
}
CREDENTIALS = (401, 403, 407, 904)
"""904 is what Janus' SIP stack says of a second challenge: the answer to the first was wrong."""


def call_cause(uri: str, code: int, reason: str) -> str:
    """The reason for which `uri` could not be called."""
    if code in (401, 407, 904):
        return f"{uri} was not called: the trunk or PBX refused our user or password ({code}); check telephony.sip"
    what = CALLS.get(code) or ("could not be called" if code < 600 else "does not take the call")
    return f"{uri} {what} ({code} {reason})".replace(" )", ")")


def registration_cause(uri: str, code: int, reason: str, password: str) -> str:
    """The reason for which we could not register as `uri`; `password` names the environment variable of the password."""
    said = f"({code} {reason})".replace(" )", ")")
    if code in CREDENTIALS:
        return f"{uri}: the trunk or PBX refused our user or password {said}; check telephony.sip.user and ${password}"
    if code == 404:
        return f"{uri}: the trunk or PBX does not know this account {said}; check telephony.sip.account"
    if code in (0, 408, 503, 504):
        return f"{uri}: the trunk or PBX does not answer {said}; check telephony.sip.proxy and the network"
    return f"{uri}: the trunk or PBX refused the registration {said}"
