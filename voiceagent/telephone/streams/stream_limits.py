"""The limits of the telephone streams: the time that a peer may take, and the number of connections at once."""

from __future__ import annotations

from dataclasses import dataclass

from voiceagent.server.http.slowing import REFUSAL_LIMITS, RefusalLimits


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
