"""What the agent does with its own voice while the caller speaks over it, before it is known whether they take the floor: fall
silent at once, speak softly, or go on; when what is heard is enough to fall silent; how long to stay so after a sign of
listening. Pure values of the rules. What a sound that is over was, `overlap` says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from voiceagent.turn_taking.overlap import Leaning

Onset = Literal["pause", "duck", "go on"]

STILL_SPEAKING_MS = 40.0
"""A silence shorter than this stands inside a word."""


class Manners(Struct, frozen=True):
    """Of one way to behave."""

    onset: Onset
    """As soon as speech is certain."""
    pause_after_ms: float = 0.0
    """So much speech pauses the reply, as long as no word of it is known."""
    patience_ms: float = 0.0
    """And so much, while all words that are known are backchannels."""
    duck_db: float = -12.0
    quiet_ms: float = 650.0
    """After a backchannel that paused the reply the caller may go on: so long after it the agent does, …"""
    nothing_ms: float = 240.0
    """… and so long after a sound without words, which may have been the beginning of some."""

    def pauses(self, voiced_ms: float, silence_ms: float, words: Leaning) -> bool:
        """Whether a reply that is still being said pauses: the caller's speech so far, the silence at the end of it, and what its
        words look like."""
        if words == "taking":
            return True
        if silence_ms >= STILL_SPEAKING_MS:
            return False
        return voiced_ms >= (self.patience_ms if words == "listening" else self.pause_after_ms)


EAGER = Manners("pause")
MANNERS: Mapping[str, Manners] = {
    "eager": EAGER,
    "duck": Manners("duck", pause_after_ms=420.0, patience_ms=1000.0),
    "wait": Manners("go on", pause_after_ms=420.0, patience_ms=1000.0),
}
"""By the name that `turn.overlap` gives them. The lengths were chosen on the sounds of `models/train/overlap_sounds.py`: the
shortest that keep audible pauses below 10 % there."""
