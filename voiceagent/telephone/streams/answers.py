"""The answers to vendors' webhooks: stream the call's audio to us, both ways; and, once the stream has ended, dial somebody for a
transfer, or hang up."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

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
