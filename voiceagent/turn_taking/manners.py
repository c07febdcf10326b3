"""What the agent does with its own voice while the caller speaks over it, before it is known whether they take the floor. It may
fall silent at once, speak softly, or go on. The values also say how much speech makes it fall silent, and how long it stays
silent after a backchannel. Pure values of the rules. `overlap` decides what a sound was once it is over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from voiceagent.turn_taking.overlap import Leaning

Onset = Literal["pause", "duck", "go on"]

STILL_SPEAKING_MS = 40.0
"""A shorter silence counts as part of a word."""


class Manners(Struct, frozen=True):
    """The values of one way to behave."""

    onset: Onset
    """What it does as soon as speech is certain."""
    pause_after_ms: float = 0.0
    """This much speech pauses the reply while no word of it is known."""
    patience_ms: float = 0.0
    """This much speech pauses the reply while all known words are backchannels."""
    duck_db: float = -12.0
    quiet_ms: float = 650.0
    """After a backchannel that paused the reply, the caller may go on; the agent goes on after this silence."""
    nothing_ms: float = 240.0
    """The same after a sound without words, which may have been the beginning of some."""

    def pauses(self, voiced_ms: float, silence_ms: float, words: Leaning) -> bool:
        """Whether a reply that is being said pauses. It depends on the caller's speech so far, the silence at its end, and what
        its words look like."""
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
"""By the name in `turn.overlap`. The lengths were chosen on the sounds of `models/train/overlap_sounds.py`: the shortest that
keep audible pauses below 10 % there."""
