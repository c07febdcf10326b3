"""The answers to vendors' webhooks. Each tells the vendor to stream the call's audio to us, both ways."""

from __future__ import annotations

import json
from collections.abc import Callable
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
    """Plivo's `<Stream>`. What stands behind it is run once the stream has ended, as `keepCallAlive` is set."""
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
