"""LocalAgreement-2: a growing utterance is decoded again and again, and the words on which two hypotheses in a row agree are
stable (Macháček et al., arXiv 2307.14743). Pure. Case and punctuation may change without breaking agreement."""

from __future__ import annotations

from collections.abc import Sequence

from voiceagent.stt.stable import StableWords, bare


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
