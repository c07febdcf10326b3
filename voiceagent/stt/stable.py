"""The words of a growing utterance that are not taken back any more, and the last hypothesis beyond them. Pure. Every hypothesis
starts again at the utterance's first word, so each is laid against the stable words first: case, punctuation, and a word more
or less in the stable part shift nothing. Which of the words behind them become stable next is a policy: `agreement.py`,
`alignatt.py`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

SHIFT = 3
CLOSING = ".,?!"
"""What a recogniser ends every text with; whether a sentence ended there shows when more words come."""


def bare(word: str) -> str:
    """`word` as it is compared: without case and punctuation."""
    return "".join(character for character in word.casefold() if character.isalnum()) or word


class StableWords(ABC):
    """The stable words of one window of an utterance; what a policy builds on."""

    def __init__(self, stable: Sequence[str] = (), unstable: Sequence[str] = ()) -> None:
        self.stable = list(stable)
        self.unstable = list(unstable)

    def update(self, words: Sequence[str], clear: int = 0) -> int:
        """Take the next hypothesis of the whole window, of whose words the first `clear` end well before the audio does.
        Returns how many of `words` are stable now, counted from the first; stable words are never taken back."""
        behind = self._behind_stable(words)
        settled = behind + self._settled(words[behind:], max(0, clear - behind))
        self.stable += words[behind:settled]
        if behind < settled == len(words):
            self.stable[-1] = self.stable[-1].rstrip(CLOSING) or self.stable[-1]
        self.unstable = list(words[settled:])
        return settled

    @abstractmethod
    def _settled(self, words: Sequence[str], clear: int) -> int:
        """How many of the words behind the stable ones become stable."""

    def _behind_stable(self, words: Sequence[str]) -> int:
        """Where `words` goes on behind the stable words: the split whose left side resembles them most."""
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
