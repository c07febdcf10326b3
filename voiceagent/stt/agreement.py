"""LocalAgreement-2: of a growing utterance that is decoded again and again, the words that two hypotheses in a row agree
on are stable (Macháček et al., arXiv 2307.14743). Pure. Case and punctuation may flip without breaking agreement,
and a word more or less in the stable part shifts nothing."""

from __future__ import annotations

from collections.abc import Sequence

SHIFT = 3


def bare(word: str) -> str:
    """`word` as it is compared: without case and punctuation."""
    return "".join(character for character in word.casefold() if character.isalnum()) or word


class LocalAgreement:
    """The stable words of one utterance and the last hypothesis beyond them."""

    def __init__(self, stable: Sequence[str] = (), unstable: Sequence[str] = ()) -> None:
        self.stable = list(stable)
        self.unstable = list(unstable)

    def update(self, words: Sequence[str]) -> int:
        """Take the next hypothesis of the whole utterance. Returns how many of `words` are stable now, counted from the
        first; stable words are never taken back."""
        behind = self._behind_stable(words)
        agreed = 0
        for ours, theirs in zip(self.unstable, words[behind:], strict=False):
            if bare(ours) != bare(theirs):
                break
            agreed += 1
        self.stable += words[behind : behind + agreed]
        self.unstable = list(words[behind + agreed :])
        return behind + agreed

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
