"""Words become stable as soon as they end clear of the audio's edge, and stay so."""

from __future__ import annotations

import pytest

from voiceagent.stt.hypothesis import AlignAtt, RecognisedWord, clear_of


def timed(*ends_s: float) -> list[RecognisedWord]:
    return [RecognisedWord(f"w{i}", end_s - 0.2, end_s, 1.0) for i, end_s in enumerate(ends_s)]


def test_one_hypothesis_is_enough_for_words_clear_of_the_edge() -> None:
    words = AlignAtt()
    assert words.update(["book", "a", "cable"], clear=2) == 2
    assert (words.stable, words.unstable) == (["book", "a"], ["cable"])


def test_a_word_at_the_edge_may_still_change() -> None:
    words = AlignAtt()
    words.update(["book", "a", "cable"], clear=2)
    words.update(["book", "a", "table", "for"], clear=3)
    assert (words.stable, words.unstable) == (["book", "a", "table"], ["for"])


def test_stable_words_are_never_taken_back() -> None:
    words = AlignAtt()
    words.update(["what", "dime"], clear=2)
    words.update(["What", "time", "is", "it"], clear=3)
    assert (words.stable, words.unstable) == (["what", "dime", "is"], ["it"])


@pytest.mark.parametrize(("end_s", "count"), [(0.0, 0), (0.5, 1), (0.99, 1), (5.0, 3)])
def test_words_are_clear_up_to_the_first_that_ends_later(end_s: float, count: int) -> None:
    assert clear_of(timed(0.5, 1.0, 1.5), end_s) == count


def test_a_word_behind_one_that_is_not_clear_is_not_clear_either() -> None:
    assert clear_of(timed(0.5, 2.0, 1.5), 1.6) == 1
