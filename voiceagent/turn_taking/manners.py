"""The agent's use of its voice while the caller speaks over it, before it is known whether they take the floor. It may fall
silent at once, speak softly, or go on. The values also set how much sound hushes it for a moment, how much speech silences it,
and how long it stays silent after a backchannel. Pure values of the rules. `overlap` decides what a sound was once it is over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from voiceagent.turn_taking.overlap import SHORT_MS, UNLIKE_WORDS, Leaning

Onset = Literal["pause", "duck", "go on"]

STILL_SPEAKING_MS = 40.0
"""A shorter silence counts as part of a word."""
SAYING_MORE_MS = 60.0
"""`STILL_SPEAKING_MS` while the reply is hushed: every gap in a word counts then, and the agent would be heard again in it."""
SURELY_NO_WORDS = 0.1
"""A sound whose chance to be words is below this is no words, however short it is so far."""


class Overheard(Struct, frozen=True):
    """The caller's speech over the agent so far."""

    voiced_ms: float
    """Speech, pauses left out."""
    silence_ms: float
    """The silence at its end."""
    words: Leaning
    """The first impression of its words."""
    words_chance: float | None = None
    """The chance, 0 to 1, that the sound is words. None if it was not judged."""


class Manners(Struct, frozen=True):
    """The values of one way to behave."""

    onset: Onset
    """The reaction as soon as speech is certain."""
    pause_after_ms: float = 0.0
    """This much speech pauses the reply while no word of it is known."""
    patience_ms: float = 0.0
    """This much speech pauses the reply while all known words are backchannels."""
    duck_db: float = -12.0
    quiet_ms: float = 650.0
    """After a backchannel that paused the reply, the caller may go on; the agent goes on after this silence."""
    nothing_ms: float = 240.0
    """`quiet_ms` after a sound without words, which may have been the beginning of some."""
    hush_after_ms: float = 0.0
    """This much sound hushes the reply for a moment, unless it is unlike words. 0: none does."""
    hush_ms: float = 0.0
    """The length of this moment."""
    unknown_ms: float = 0.0
    """If the words of short speech that paused the reply are not known so long after its end, the reply goes on. A busy
    recogniser is late. 0: the reply waits for the words."""

    def hushes(self, heard: Overheard) -> bool:
        """True if a reply that is being said is hushed for a moment. After so little sound the judgement is unsure, so only sound
        that is surely no words is left out."""
        surely_none = heard.words_chance is not None and heard.words_chance < SURELY_NO_WORDS
        return 0 < self.hush_after_ms <= heard.voiced_ms and heard.silence_ms < STILL_SPEAKING_MS and not surely_none

    def stays_hushed(self, heard: Overheard) -> bool:
        """True if a reply that was hushed for a moment stays hushed, because the caller is still saying something. Otherwise it
        was probably no interruption."""
        return heard.words != "listening" and heard.silence_ms < SAYING_MORE_MS and not _unlike_words(heard)

    def waits_no_longer(self, heard: Overheard) -> bool:
        """True if a paused reply goes on before the words are known: they are late, or it was a laugh after all."""
        late = heard.voiced_ms < SHORT_MS and 0 < self.unknown_ms <= heard.silence_ms
        return heard.words != "taking" and (late or _unlike_words(heard))

    def pauses(self, heard: Overheard) -> bool:
        """True if a reply that is being said pauses until the caller's words are known."""
        if heard.words == "taking":
            return True
        if heard.silence_ms >= STILL_SPEAKING_MS or _unlike_words(heard):
            return False
        return heard.voiced_ms >= (self.patience_ms if heard.words == "listening" else self.pause_after_ms)


def _unlike_words(heard: Overheard) -> bool:
    return heard.words_chance is not None and heard.words_chance < UNLIKE_WORDS


EAGER = Manners("pause")
MANNERS: Mapping[str, Manners] = {
    "eager": Manners(
        "duck",
        pause_after_ms=240.0,
        patience_ms=1000.0,
        quiet_ms=240.0,
        nothing_ms=0.0,
        hush_after_ms=100.0,
        hush_ms=200.0,
        unknown_ms=240.0,
    ),
    "duck": Manners("duck", pause_after_ms=420.0, patience_ms=1000.0, quiet_ms=240.0),
    "wait": Manners("go on", pause_after_ms=420.0, patience_ms=1000.0, quiet_ms=240.0),
}
"""The manners by their names in `turn.overlap`. The default's values were chosen on people's words and backchannels
(`tests/people`) and on sounds of `models/train/wordlike`: a call may be silent for a quarter of a second before it is heard as a
pause. The lengths of the others were chosen on `models/train/overlap_sounds.py`: the shortest that keep audible pauses below 10 %
there."""
