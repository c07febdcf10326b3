"""What answers a vendor's webhook: have the call's audio streamed to us, both ways."""

from __future__ import annotations

import json
from collections.abc import Callable
from xml.sax.saxutils import escape, quoteattr

XML, JSON = "application/xml", "application/json"
Answer = Callable[[str], tuple[str, str]]
"""From the stream's address the content type and the body."""

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


def twiml(url: str) -> tuple[str, str]:
    """Twilio's TwiML and SignalWire's cXML: `<Connect>`, which streams both ways and ends the call with the stream."""
    return XML, f"{_HEAD}<Response><Connect><Stream url={quoteattr(url)}/></Connect></Response>"


def texml(url: str) -> tuple[str, str]:
    """Telnyx' TeXML. Without `bidirectionalMode="rtp"` it plays whole MP3 files only."""
    attributes = f'url={quoteattr(url)} codec="PCMU" bidirectionalMode="rtp" bidirectionalCodec="PCMU"'
    return XML, f"{_HEAD}<Response><Connect><Stream {attributes}/></Connect></Response>"


def plivo_xml(url: str) -> tuple[str, str]:
    """Plivo's `<Stream>`."""
    attributes = 'bidirectional="true" keepCallAlive="true" contentType="audio/x-mulaw;rate=8000"'
    return XML, f"{_HEAD}<Response><Stream {attributes}>{escape(url)}</Stream></Response>"


def exotel_url(url: str) -> tuple[str, str]:
    """What Exotel's Voicebot applet asks for."""
    return _json({"url": url})


def ncco(url: str) -> tuple[str, str]:
    """Vonage's call control object."""
    endpoint = {"type": "websocket", "uri": url, "content-type": "audio/l16;rate=16000"}
    return _json([{"action": "connect", "endpoint": [endpoint]}])


def listen(url: str) -> tuple[str, str]:
    """jambonz' `listen`. Without `streaming` it plays whole files only."""
    both_ways = {"enabled": True, "streaming": True, "sampleRate": 16_000}
    verb = {"verb": "listen", "url": url, "mixType": "mono", "sampleRate": 16_000, "passDtmf": True}
    return _json([{**verb, "bidirectionalAudio": both_ways}])


def _json(value: object) -> tuple[str, str]:
    return JSON, json.dumps(value)
