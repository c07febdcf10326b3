"""Speech over the agent's: is it a backchannel, a noise, the agent's own echo, or does the caller take the floor? Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

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
