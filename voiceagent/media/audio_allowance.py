"""How much audio a peer may make the server work on. Audio comes at the pace of the clock, except what a network held back and
then delivers at once. A faster sender is cut to that pace, and a sender that goes on is an abuser. So is one whose timestamps
leap: each leap is a pause that would be filled with silence."""

from __future__ import annotations

from voiceagent.token_bucket import Meter, TokenBucket

CLOCK_DRIFT = 1.1
"""Seconds of audio a second. Sound cards' clocks differ from ours, by far less than this."""
BURST_S = 5.0
"""Audio in seconds that a stalled network may deliver at once."""
PATIENCE_S = 20.0
"""Audio in seconds beyond that which is only left out; more is abuse."""
PATIENCE_REGAINED = 0.2
"""How much of `PATIENCE_S` is regained in a second."""


def audio_meter() -> Meter:
    """The meter of one connection, in seconds of audio."""
    return Meter(TokenBucket(CLOCK_DRIFT, BURST_S), TokenBucket(PATIENCE_REGAINED, PATIENCE_S))
