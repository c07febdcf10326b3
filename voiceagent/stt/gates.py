"""Rejects Whisper's hallucinations. On noise and breath Whisper writes fluent text; each gate looks at one trace that such text
leaves. Pure. The limits belong to a model, so a profile may change them.

Detects a transcript that repeats itself. A published Whisper learned on 30 seconds of audio. Given less, it sometimes does not
find its end, and says the same again until it is stopped. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from voiceagent.stt.hypothesis import Hypothesis, bare


class GateLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Beyond these limits a hypothesis counts as a hallucination."""

    no_speech_probability: float = 0.6
    """With `doubtful_log_probability`: the model itself doubts that there was speech."""
    doubtful_log_probability: float = -1.0
    log_probability: float = -2.0
    """Mean over tokens; below it the text is a guess, whatever the other figures say."""
    compression_ratio: float = 2.4
    """The largest ratio of the text's UTF-8 to its length in zlib: repetitive text compresses well."""
    repeats: int = 4
    """A phrase of one to four words that stands so often in a row is a loop."""
    words_per_second: float = 9.0
    """With two words more, the most that mouths can say in the voiced audio; espeak-ng at its fastest says 7.5 and two."""


def rejection(hypothesis: Hypothesis, voiced_ms: float, limits: GateLimits) -> str:
    """Returns the reason for a rejection of the hypothesis, as a slug; empty when it is accepted. `voiced_ms` is the speech that
    it was decoded from."""
    words = [bare(word.text) for word in hypothesis.words]
    if not words:
        return ""
    doubtful = hypothesis.mean_log_probability < limits.doubtful_log_probability
    if hypothesis.no_speech_probability > limits.no_speech_probability and doubtful:
        return "no_speech"
    if hypothesis.mean_log_probability < limits.log_probability:
        return "log_probability"
    if hypothesis.compression_ratio > limits.compression_ratio:
        return "compression_ratio"
    if longest_loop(words) >= limits.repeats:
        return "repetition"
    if len(words) > 2 + voiced_ms / 1000 * limits.words_per_second:
        return "too_many_words"
    return ""


def longest_loop(words: list[str]) -> int:
    """The most repetitions in a row of a phrase of one to four words. Digits may repeat: order numbers do."""
    longest = 1
    for size in range(1, 5):
        for start in range(len(words) - size):
            phrase = words[start : start + size]
            if all(word.isdigit() for word in phrase):
                continue
            count = 1
            while words[start + count * size : start + (count + 1) * size] == phrase:
                count += 1
            longest = max(longest, count)
    return longest


SAID_TWICE = 2
WORD_SAID_THRICE = 3


def says_all_twice(words: Sequence[str]) -> bool:
    """True when the words are one phrase, twice or more often. A published Whisper writes very short speech so."""
    heard = [bare(word) for word in words]
    sizes = (size for size in range(1, len(heard) // 2 + 1) if len(heard) % size == 0)
    return any(heard == heard[:size] * (len(heard) // size) for size in sizes)


def ends_in_a_loop(words: Sequence[str]) -> bool:
    """True when the last phrase was written twice in a row, or the last word three times. People speak like that too, so it is a
    reason to decode again and not to reject. Digits may repeat: telephone numbers do."""
    heard = [bare(word) for word in words]
    for size in range(1, len(heard) // 2 + 1):
        phrase = heard[-size:]
        copies = WORD_SAID_THRICE if size == 1 else SAID_TWICE
        if heard[-size * copies :] == phrase * copies and not all(word.isdigit() for word in phrase):
            return True
    return False
