"""How much audio a peer may make the server work on. Audio comes at the pace of the clock, but for what a network held back and
then delivered at once. A sender that is faster is cut to that pace, and one that goes on is an abuser. So is one whose timestamps
leap: each leap is a pause that would be filled with silence."""

from __future__ import annotations

from voiceagent.token_bucket import Meter, TokenBucket

CLOCK_DRIFT = 1.1
"""Seconds of audio a second: sound cards' clocks differ from ours, by far less than this."""
BURST_S = 5.0
"""Audio that a stalled network may deliver at once."""
PATIENCE_S = 20.0
"""Audio beyond that which is only left out …"""
PATIENCE_REGAINED = 0.2
"""… and how much of that is forgiven in a second."""


def audio_meter() -> Meter:
    """Of one connection, in seconds of audio."""
    return Meter(TokenBucket(CLOCK_DRIFT, BURST_S), TokenBucket(PATIENCE_REGAINED, PATIENCE_S))
