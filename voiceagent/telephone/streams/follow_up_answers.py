"""What answers a vendor that asks what follows a call's stream: dial somebody, or hang up. And what it tells of that dialling."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from voiceagent.telephone.streams.answers import JSON, XML

RINGS_S = 30
"""So long the one who is dialled may let it ring."""
TAKEN = frozenset(("completed", "answered"))
"""Outcomes of dialling after which the call is over: somebody has talked with the caller."""
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


@dataclass(frozen=True, slots=True)
class FollowUpAnswers:
    """Of one vendor."""

    dial: Callable[[str, str], tuple[str, str]]
    """From a number or SIP address, and the address to tell the outcome to, the content type and the body."""
    hang_up: tuple[str, str]
    outcome: str
    """The field that tells how dialling went."""


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
TWIML = FollowUpAnswers(_twiml_dial, _HANG_UP, "DialCallStatus")
PLIVO = FollowUpAnswers(_plivo_dial, _HANG_UP, "DialStatus")
JAMBONZ = FollowUpAnswers(_jambonz_dial, (JSON, json.dumps([{"verb": "hangup"}])), "dial_call_status")
