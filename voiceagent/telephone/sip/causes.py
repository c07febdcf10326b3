"""Explains in one clear line why a SIP call or a registration failed (RFC 3261 §21)."""

from __future__ import annotations

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
