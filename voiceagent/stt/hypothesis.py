"""One decode: the window of audio that goes in; the words that come out, with the figures by which the gates judge them; and
those of a growing utterance that will not change any more. Pure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from voiceagent.turn_taking.patience import NOTHING, ExpectedValue

if TYPE_CHECKING:
    from voiceagent.stt.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class DecodeWindow:
    """One stretch of audio to decode."""

    audio: NDArray[np.float32]
    """Mono 16 kHz in -1..1, shape (samples,)."""
    prompt: str = ""
    """The words said before it."""
    word_times: bool = False
    thorough: bool = False
    """The window is decoded once more, because its text was in doubt."""
    language: str = ""
    """The code of the language that is probably spoken in it; empty: the engine's own setting."""
    detect: bool = False
    """True when the recogniser is to detect the language."""
    expected: ExpectedValue = NOTHING
    """The value that was asked for, and may be said in it."""
    vocabulary: Vocabulary | None = None
    """The words of the house, which may be said in it."""


@dataclass(frozen=True, slots=True)
class RecognisedWord:
    """A word with its place in the audio that was decoded; `text` has no surrounding spaces."""

    text: str
    start_s: float
    end_s: float
    probability: float


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One decode's text. The last three figures feed the hallucination gates."""

    words: tuple[RecognisedWord, ...]
    no_speech_probability: float
    mean_log_probability: float
    compression_ratio: float
    language: str = ""
    """The language that the recogniser detected; empty where it was set."""

    @property
    def text(self) -> str:
        """The words as one line."""
        return " ".join(word.text for word in self.words)


SHIFT = 3
CLOSING = ".,?!"
"""Marks with which a recogniser ends every text. Only further words show whether a sentence really ended there."""


def bare(word: str) -> str:
    """`word` as it is compared: without case and punctuation."""
    return "".join(character for character in word.casefold() if character.isalnum()) or word


class StableWords(ABC):
    """The stable words of one window of an utterance, and the last hypothesis beyond them; what a policy builds on. Every
    hypothesis starts again at the utterance's first word, so it is first aligned with the stable words. Differences of case or
    punctuation, and a word more or less in the stable part, shift nothing. A policy decides which of the following words become
    stable next: `LocalAgreement`, `AlignAtt`."""

    def __init__(self, stable: Sequence[str] = (), unstable: Sequence[str] = ()) -> None:
        self.stable = list(stable)
        self.unstable = list(unstable)

    def update(self, words: Sequence[str], clear: int = 0) -> int:
        """Take the next hypothesis of the whole window; its first `clear` words end well before the audio does. Returns how many
        of `words` are stable now, counted from the first. Stable words are never taken back."""
        behind = self._behind_stable(words)
        settled = behind + self._settled(words[behind:], max(0, clear - behind))
        self.stable += words[behind:settled]
        if behind < settled == len(words):
            self.stable[-1] = self.stable[-1].rstrip(CLOSING) or self.stable[-1]
        self.unstable = list(words[settled:])
        return settled

    @abstractmethod
    def _settled(self, words: Sequence[str], clear: int) -> int:
        """Returns the number of words behind the stable ones that become stable."""

    def _behind_stable(self, words: Sequence[str]) -> int:
        """The place in `words` after the stable words: the split whose left side resembles them most."""
        stable = [bare(word) for word in self.stable]
        heard = [bare(word) for word in words]
        last = len(stable)
        splits = range(max(0, last - SHIFT), min(len(heard), last + SHIFT) + 1)
        return min(splits, key=lambda k: (_distance(stable, heard[:k]), abs(k - last)), default=0)


def _distance(left: Sequence[str], right: Sequence[str]) -> int:
    """Levenshtein distance in words."""
    row = list(range(len(right) + 1))
    for i, ours in enumerate(left, 1):
        previous, row[0] = row[0], i
        for j, theirs in enumerate(right, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (ours != theirs))
    return row[-1]


class LocalAgreement(StableWords):
    """LocalAgreement-2 (Macháček et al., arXiv 2307.14743): words on which two hypotheses in a row agree are stable, except a
    number at the end: its next digits are written into it. Case and punctuation may change without breaking agreement."""

    def _settled(self, words: Sequence[str], clear: int) -> int:
        agreed = 0
        for ours, theirs in zip(self.unstable, words, strict=False):
            may_grow = agreed == len(words) - 1 and bare(theirs).isdigit()
            if bare(ours) != bare(theirs) or may_grow:
                break
            agreed += 1
        return agreed


class AlignAtt(StableWords):
    """Words that end well before the audio does, by the model's attention, are stable, because later audio cannot change them
    much (Papi et al., arXiv 2305.11408; for Whisper: Macháček & Polák, arXiv 2506.17077). One hypothesis is enough, so words are
    stable one decode sooner than by agreement. The price is an alignment with every decode, and the risk that a word becomes
    stable which the next hypothesis would have corrected."""

    def _settled(self, words: Sequence[str], clear: int) -> int:
        return min(clear, len(words))


def clear_of(words: Sequence[RecognisedWord], end_s: float) -> int:
    """The number of words, from the first on, that end at `end_s` or before."""
    count = 0
    for word in words:
        if word.end_s > end_s:
            break
        count += 1
    return count
