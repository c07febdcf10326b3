"""The time limits of a SIP line, for the gateway and for the people on its calls."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SipPatience:
    """The limits of one line, in seconds."""

    connect_s: float = 5.0
    """Longest wait for a connection to Janus."""
    answer_s: float = 5.0
    """Longest wait for an answer of Janus, which acknowledges at once. The result of a longer task comes as an event."""
    keepalive_s: float = 10.0
    """Janus drops a session that has sent nothing for 60 s. A Janus that does not answer is noticed after this time and
    `answer_s`."""
    silence_s: float = 20.0
    """The time without a packet after which the other side has vanished, if nobody holds the call. Telephones send silence,
    too."""
    accept_s: float = 15.0
    """Longest wait, after a colleague has heard the summary, for the key that takes the call."""


SIP_PATIENCE = SipPatience()
