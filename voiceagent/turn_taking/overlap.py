"""Speech over the agent's. At once, by the agent's manners: it falls silent, speaks softly, or goes on. Once the sound is known:
is it a backchannel, a noise, the agent's own echo, or does the caller take the floor? Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from msgspec import Struct

from voiceagent.turn_taking.language import Language, bare_words, has_phrase

Verdict = Literal["yield", "continue", "wait"]
Leaning = Literal["unknown", "listening", "taking"]

MAX_BACKCHANNEL_WORDS = 4
MIN_VOICED_MS = 250.0
"""A word that is found in less speech than this does not count yet: recognisers hear words in coughs."""
SHORT_WORD_MS = 600.0
SHORT_MS = 800.0
"""In so little speech, one word is a backchannel too, and so are two with a backchannel among them. Recognisers are worst at what
people mumble while they listen, and may write any word for it."""
FASTEST_WORD_MS = 130.0
"""Two or three words in less speech than they take, this much each, are misheard, and a backchannel too."""
UNLIKE_WORDS = 0.4
"""The sound is no words if the chance that it is some is below this: a cough, a laugh, a hum."""
MISHEARD_WORDS = 3
"""This many words, at most, recognisers write for such a sound ("Get me out!" for a cleared throat). More were said."""
ECHO_WORDS = 2
"""This many words in a row that the agent has just said are its echo."""
REMEMBERED_WORDS = 40
"""Number of the agent's words, before the last one heard, that may come back as an echo."""
EARLY_ANSWER_WORDS = 4
"""Most unheard words at a question's end with which it may already be answered."""
_SENTENCE_END = re.compile(r"[.!?…。？！।؟۔]+[\"'”’)\]]*\s*")
_QUESTION_END = re.compile(r"[?？؟][\"'”’)\]]*$")


@dataclass(frozen=True, slots=True)
class Overlap:
    """Speech over the agent's, as far as it is known."""

    words: str
    """The words as far as they were recognised."""
    voiced_ms: float
    """The length of the sound, or of the speech in it if that is known; 0 if neither is."""
    silent: bool
    """True once the caller has fallen silent again, so that `words` is all of it."""
    heard: str
    """The agent's reply, as far as the caller heard it; empty if nothing of it was heard."""
    unheard: str
    """The rest of it."""
    words_chance: float | None = None
    """The chance, 0 to 1, that the sound is words. None if it was not judged."""

    @property
    def unlike_words(self) -> bool:
        """True if it sounds like a cough, a laugh or a hum, and not like words."""
        return self.words_chance is not None and self.words_chance < UNLIKE_WORDS

    @property
    def asked(self) -> bool:
        """True if the agent has asked, or is about to finish asking, so that a "yes" may answer it."""
        asks = _QUESTION_END.search(f"{self.heard} {self.unheard}".rstrip()) is not None
        return asks and len(self.unheard.split()) <= EARLY_ANSWER_WORDS

    @property
    def may_echo(self) -> list[str]:
        """The agent's words that may come back as an echo: the latest heard ones. An answer repeats the words of its question, so
        the words of the sentence that asks do not count."""
        heard = self.heard
        if self.asked:
            ends = [match.end() for match in _SENTENCE_END.finditer(heard) if match.end() < len(heard.rstrip())]
            heard = heard[: ends[-1]] if ends else ""
        return bare_words(heard)[-REMEMBERED_WORDS:]


def classify(overlap: Overlap, language: Language) -> Verdict:
    """Decides whether the agent goes on, yields the floor, or cannot know yet; never `wait` once the caller is silent. While
    nothing of the reply was heard, there is nothing to listen to or to echo, so any words are the caller's turn. Any words are a
    turn, too, in a language whose words are not known."""
    words = bare_words(overlap.words)
    undecided: Verdict = "continue" if overlap.silent else "wait"
    if not words or is_echo(words, overlap.may_echo):
        return undecided
    believed = overlap.silent or overlap.voiced_ms >= MIN_VOICED_MS
    if not overlap.heard or not language.is_known:
        return "yield" if believed else "wait"
    misheard = overlap.unlike_words and len(words) <= MISHEARD_WORDS
    if is_halt(words, language) or (is_command(words, language) and not misheard):
        return "yield"
    if misheard or is_laughter(words, language):
        return undecided
    if _is_listening(words, overlap, language):
        return "yield" if overlap.asked and overlap.silent else undecided
    return "yield" if believed else "wait"


def leaning(words: str, overlap: Overlap, language: Language) -> Leaning:
    """Judges the first words of speech that goes on. A single word proves little: it may be half of a word, or a mumble that was
    recognised as one."""
    known = bare_words(words)
    if not known:
        return "unknown"
    if is_echo(known, overlap.may_echo) or language.backchannels.issuperset(known) or is_laughter(known, language):
        return "listening"
    if (overlap.unlike_words and len(known) <= MISHEARD_WORDS) or _too_fast(known, overlap.voiced_ms):
        return "unknown"
    if len(known) == 1 and known[0] not in language.openers and overlap.voiced_ms < SHORT_WORD_MS:
        return "unknown"
    return "taking"


def is_command(words: list[str], language: Language) -> bool:
    """True if the words order the agent to stop, whatever else they mean."""
    return not language.commands.isdisjoint(words) or has_phrase(words, language.command_phrases | language.halts)


def is_halt(words: list[str], language: Language) -> bool:
    """True if the words refuse, or order the agent to stop. They are believed whatever they sound like."""
    return not language.no.isdisjoint(words) or has_phrase(words, language.halts)


def _is_listening(words: list[str], overlap: Overlap, language: Language) -> bool:
    """True if the words so far are only a backchannel. A few words may still become more."""
    if len(words) <= MAX_BACKCHANNEL_WORDS and language.backchannels.issuperset(words):
        return True
    if not 0 < overlap.voiced_ms < SHORT_MS:
        return False
    if _too_fast(words, overlap.voiced_ms):
        return True
    if len(words) > 2:
        return False
    if not overlap.silent:
        return True
    if len(words) == 2:
        return not language.backchannels.isdisjoint(words)
    return overlap.voiced_ms < SHORT_WORD_MS and words[0] not in language.openers and not words[0].isdigit()


def _too_fast(words: list[str], voiced_ms: float) -> bool:
    """True for a few words in less speech than they take."""
    return 1 < len(words) <= MISHEARD_WORDS and 0 < voiced_ms < len(words) * FASTEST_WORD_MS


def is_laughter(words: list[str], language: Language) -> bool:
    """True for written laughter: two or more of its syllables, and nothing else."""
    syllables = "|".join(sorted(language.laughs, key=len, reverse=True))
    return bool(syllables) and re.fullmatch(f"(?:{syllables}){{2,}}h?", "".join(words)) is not None


def is_echo(words: list[str], said: list[str]) -> bool:
    """True if the words, two or more, occur in a row in the agent's speech."""
    size = len(words)
    return size >= ECHO_WORDS and any(said[start : start + size] == words for start in range(len(said) - size + 1))


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
