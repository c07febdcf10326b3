"""Detects a transcript that repeats itself. A published Whisper learned on 30 seconds of audio. Given less, it sometimes does not
find its end, and says the same again until it is stopped. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from voiceagent.stt.stable import bare

SAID_TWICE = 2
WORD_SAID_THRICE = 3


def says_all_twice(words: Sequence[str]) -> bool:
    """Whether the words are one phrase, twice or more often. A published Whisper writes very short speech so."""
    heard = [bare(word) for word in words]
    sizes = (size for size in range(1, len(heard) // 2 + 1) if len(heard) % size == 0)
    return any(heard == heard[:size] * (len(heard) // size) for size in sizes)


def ends_in_a_loop(words: Sequence[str]) -> bool:
    """Whether the last phrase was written twice in a row, or the last word three times. People say that too, so it is a reason to
    decode again and not to reject. Digits may repeat: telephone numbers do."""
    heard = [bare(word) for word in words]
    for size in range(1, len(heard) // 2 + 1):
        phrase = heard[-size:]
        copies = WORD_SAID_THRICE if size == 1 else SAID_TWICE
        if heard[-size * copies :] == phrase * copies and not all(word.isdigit() for word in phrase):
            return True
    return False
