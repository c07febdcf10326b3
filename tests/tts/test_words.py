"""Words keep their order and their time whatever the phonemizer makes of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from voiceagent.tts.words import Group, groups_of, match, places_of


def groups(*lengths: int) -> list[Group]:
    return [Group(0, i, i, length) for i, length in enumerate(lengths)]


def test_spaces_end_groups_and_punctuation_makes_none() -> None:
    found = groups_of([list("həlˈoʊ, hˌaʊ — juː?"), list("ˈɛls.")])
    assert [(g.sentence, g.first, g.last, g.length) for g in found] == [(0, 0, 5, 5), (0, 8, 11, 3), (0, 15, 17, 2), (1, 0, 3, 3)]


def test_one_group_a_word_needs_no_guess() -> None:
    assert match([9, 1], groups(1, 9)) == [(0, 1), (1, 2)]


def test_a_number_is_several_groups() -> None:
    assert match([3, 11, 2], groups(3, 5, 4, 2, 2)) == [(0, 1), (1, 4), (4, 5)]


def test_words_run_together_divide_their_group() -> None:
    assert places_of([2, 2, 5], groups(4, 5)) == [(0, 0.0, 0, 0.5), (0, 0.5, 0, 1.0), (1, 0.0, 1, 1.0)]


def test_words_without_a_sound_take_no_time() -> None:
    assert places_of([0, 3, 0], groups(3)) == [(0, 0.0, 0, 0.0), (0, 0.0, 0, 1.0), (0, 1.0, 0, 1.0)]


@given(st.lists(st.integers(0, 12), min_size=1, max_size=12), st.lists(st.integers(1, 12), min_size=1, max_size=16))
def test_places_are_in_order_and_reach_the_end(lengths: list[int], sizes: list[int]) -> None:
    places = places_of(lengths, groups(*sizes))
    assert len(places) == len(lengths)
    flat = [(group, part) for g0, p0, g1, p1 in places for group, part in ((g0, p0), (g1, p1))]
    along = [group + part for group, part in flat]
    assert along == sorted(along)
    assert along[-1] == len(sizes)
