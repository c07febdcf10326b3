"""How much audio a peer may make the server work on. Audio comes at the pace of the clock, but for what a network held back and
then delivered at once. A sender that is faster is cut to that pace, and one that goes on is an abuser. So is one whose timestamps
leap: each leap is a pause that would be filled with silence."""

from __future__ import annotations

from voiceagent.token_bucket import TokenBucket

CLOCK_DRIFT = 1.1
"""Seconds of audio a second: sound cards' clocks differ from ours, by far less than this."""
BURST_S = 5.0
"""Audio that a stalled network may deliver at once."""
PATIENCE_S = 20.0
"""Audio beyond the allowance that is only left out …"""
PATIENCE_REGAINED = 0.2
"""… and how much of that is forgiven in a second."""


class AudioAllowance:
    """One per connection. Times are seconds on any clock that does not go back."""

    def __init__(self) -> None:
        self.refused_s = 0.0
        """Audio that was left out so far."""
        self.is_abused = False
        """The peer went on after it was cut to the allowed pace."""
        self._audio = TokenBucket(CLOCK_DRIFT, BURST_S)
        self._patience = TokenBucket(PATIENCE_REGAINED, PATIENCE_S)

    def take(self, audio_s: float, now_s: float) -> bool:
        """Whether so much audio may be worked on now."""
        if self._audio.take(audio_s, now_s):
            return True
        self.refused_s += audio_s
        self._patience.charge(audio_s, now_s)
        self.is_abused = self.is_abused or self._patience.left(now_s) < 0
        return False
