"""AlignAtt: a word is stable when the model's attention places its end well before the end of the audio, because later audio
cannot change it much (Papi et al., arXiv 2305.11408; for Whisper: Macháček & Polák, arXiv 2506.17077). Pure. One hypothesis is
enough, so words are stable one decode sooner than by agreement. The price is an alignment with every decode, and the risk that a
word becomes stable which the next hypothesis would have corrected."""

from __future__ import annotations

from collections.abc import Sequence

from voiceagent.stt.hypothesis import RecognisedWord
from voiceagent.stt.stable import StableWords


class AlignAtt(StableWords):
    """Words that end well before the audio does are stable."""

    def _settled(self, words: Sequence[str], clear: int) -> int:
        return min(clear, len(words))


def clear_of(words: Sequence[RecognisedWord], end_s: float) -> int:
    """How many of the words, from the first on, end at `end_s` or before."""
    count = 0
    for word in words:
        if word.end_s > end_s:
            break
        count += 1
    return count
