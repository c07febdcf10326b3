"""The words of a growing utterance that will not change any more, and the last hypothesis beyond them. Pure. Every hypothesis
starts again at the utterance's first word, so it is first aligned with the stable words. Differences of case or punctuation, and
a word more or less in the stable part, shift nothing. A policy decides which of the following words become stable next:
`LocalAgreement`, `AlignAtt`.

LocalAgreement-2: a growing utterance is decoded again and again, and the words on which two hypotheses in a row agree are
stable (Macháček et al., arXiv 2307.14743). Pure. Case and punctuation may change without breaking agreement.

AlignAtt: a word is stable when the model's attention places its end well before the end of the audio, because later audio
cannot change it much (Papi et al., arXiv 2305.11408; for Whisper: Macháček & Polák, arXiv 2506.17077). Pure. One hypothesis is
enough, so words are stable one decode sooner than by agreement. The price is an alignment with every decode, and the risk that a
word becomes stable which the next hypothesis would have corrected."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from voiceagent.stt.hypothesis import RecognisedWord

SHIFT = 3
CLOSING = ".,?!"
"""Marks with which a recogniser ends every text. Only further words show whether a sentence really ended there."""


def bare(word: str) -> str:
    """`word` as it is compared: without case and punctuation."""
    return "".join(character for character in word.casefold() if character.isalnum()) or word


class StableWords(ABC):
    """The stable words of one window of an utterance; what a policy builds on."""

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
    """Words that the previous hypothesis said too are stable, except a number at the end: its next digits are written into it."""

    def _settled(self, words: Sequence[str], clear: int) -> int:
        agreed = 0
        for ours, theirs in zip(self.unstable, words, strict=False):
            may_grow = agreed == len(words) - 1 and bare(theirs).isdigit()
            if bare(ours) != bare(theirs) or may_grow:
                break
            agreed += 1
        return agreed


class AlignAtt(StableWords):
    """Words that end well before the audio does are stable."""

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
