"""Speech over the agent's: is it a sign of listening, a noise, the agent's own echo, or does the caller take the floor? The
reply is held at once, so the answer may wait for words."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["yield", "continue", "wait"]

MARK = re.compile(r"[^\w\s]|_")
COMMANDS = frozenset({"stop", "wait", "no", "nope", "cancel", "quiet", "enough", "pause", "never", "but", "actually", "sorry"})
"""Words that take the floor wherever they stand."""
COMMAND_PHRASES = (("hold", "on"), ("hang", "on"), ("excuse", "me"), ("one", "moment"), ("just", "a"))
"""And words that do so in a row: alone they are what recognisers make of a "hm" or an "oh"."""
_BACKCHANNELS = """mm mhm mmhm mmhmm hm hmm hmmm uh uhhuh huh um ah aha oh yeah yes yep yup ok okay right sure good great nice
fine cool exactly indeed true wow really i see got it alright thanks thank you all of course"""
BACKCHANNELS = frozenset(_BACKCHANNELS.split())
"""Of nothing but these a sign of listening is made."""
MAX_BACKCHANNEL_WORDS = 4
MIN_VOICED_MS = 250.0
"""A word that is found in less speech than this is not believed yet: recognisers hear words in coughs."""
_OPENERS = """what when where who why how which can could would will is are do does did please in for at on to with from and so
because if i my we it its"""
OPENERS = frozenset(_OPENERS.split())
"""Words with which people begin a sentence: alone they are the start of one."""
SHORT_WORD_MS = 600.0
SHORT_MS = 800.0
"""One word, or two with a sign of listening among them, in so little speech are a sign of listening too: what people mumble
while they listen is what recognisers get wrong most, and it may come out as any word."""
FASTEST_PAIR_MS = 300.0
"""And so are any two words in less than they take to say."""
ECHO_WORDS = 2
"""So many words in a row that the agent has just said are its echo."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """What is known of speech over the agent's."""

    words: str
    """As far as they were recognised."""
    voiced_ms: float
    """How long it has lasted, or its speech where that is known; 0 where neither is."""
    silent: bool
    """Whether the caller has fallen silent again, so that `words` is all of it."""
    said: str
    """The agent's words of late, and those it is about to say."""
    asked: bool
    """Whether the agent has asked, or is about to finish asking, so that a "yes" may answer it."""


def classify(overlap: Overlap) -> Verdict:
    """Whether the agent goes on, yields the floor, or cannot know yet; never `wait` once the caller is silent."""
    words = bare_words(overlap.words)
    undecided: Verdict = "continue" if overlap.silent else "wait"
    if not words or is_echo(words, bare_words(overlap.said)):
        return undecided
    believed = overlap.silent or overlap.voiced_ms >= MIN_VOICED_MS
    if is_command(words):
        return "yield"
    if _is_listening(words, overlap):
        return "yield" if overlap.asked and overlap.silent else undecided
    return "yield" if believed else "wait"


def is_command(words: list[str]) -> bool:
    """Whether they tell the agent to stop, whatever else they say."""
    pairs = set(itertools.pairwise(words))
    return bool(COMMANDS.intersection(words)) or bool(pairs.intersection(COMMAND_PHRASES))


def _is_listening(words: list[str], overlap: Overlap) -> bool:
    """Whether the caller only shows that they listen, as far as is known; a few words may still become more."""
    if len(words) <= MAX_BACKCHANNEL_WORDS and BACKCHANNELS.issuperset(words):
        return True
    if len(words) > 2 or not 0 < overlap.voiced_ms < SHORT_MS:
        return False
    if not overlap.silent:
        return True
    if len(words) == 2:
        return overlap.voiced_ms < FASTEST_PAIR_MS or bool(BACKCHANNELS.intersection(words))
    return overlap.voiced_ms < SHORT_WORD_MS and words[0] not in OPENERS and not words[0].isdigit()


def is_echo(words: list[str], said: list[str]) -> bool:
    """Whether the words, two or more, stand in a row in what the agent said."""
    size = len(words)
    return size >= ECHO_WORDS and any(said[start : start + size] == words for start in range(len(said) - size + 1))


def bare_words(text: str) -> list[str]:
    """Words without case, punctuation and hyphens."""
    return MARK.sub("", text.casefold()).split()
