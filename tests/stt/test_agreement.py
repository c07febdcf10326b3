"""Words become stable when two hypotheses in a row agree on them, and stay so."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from voiceagent.stt.hypothesis import LocalAgreement


def after(*hypotheses: str) -> tuple[str, str]:
    agreement = LocalAgreement()
    for hypothesis in hypotheses:
        agreement.update(hypothesis.split())
    return " ".join(agreement.stable), " ".join(agreement.unstable)


def test_the_first_hypothesis_is_all_unstable() -> None:
    assert after("book a table") == ("", "book a table")


def test_what_two_hypotheses_agree_on_is_stable() -> None:
    assert after("book a cable", "book a table for") == ("book a", "table for")
    assert after("book a cable", "book a table for", "book a table for two") == ("book a table for", "two")


def test_case_and_punctuation_may_flip() -> None:
    assert after("Book a table.", "book a table, for") == ("book a table,", "for")


def test_the_mark_behind_the_last_word_is_settled_by_what_follows() -> None:
    assert after("On Tuesday.", "On Tuesday.") == ("On Tuesday", "")
    assert after("On Tuesday.", "On Tuesday. At", "On Tuesday. At two.") == ("On Tuesday. At", "two.")


def test_stable_words_are_never_taken_back() -> None:
    assert after("what time is it", "what time is it", "what dime is it in Paris") == ("what time is it", "in Paris")


def test_a_lost_or_added_word_in_the_stable_part_shifts_nothing() -> None:
    assert after("what time is it", "what time is it", "what time it in Paris") == ("what time is it", "in Paris")
    assert after("what time is it", "what time is it", "so what time is it in Paris") == ("what time is it", "in Paris")


def test_an_empty_hypothesis_changes_nothing_stable() -> None:
    assert after("hello there", "hello there", "") == ("hello there", "")


def test_update_says_how_many_of_its_words_are_stable() -> None:
    agreement = LocalAgreement()
    assert agreement.update(["a", "b"]) == 0
    assert agreement.update(["a", "b", "c"]) == 2


words = st.lists(st.sampled_from(["one", "two", "Two.", "three", "—"]), max_size=8)


@given(st.lists(words, max_size=8))
def test_in_any_order_of_hypotheses_the_stable_part_only_grows(hypotheses: list[list[str]]) -> None:
    agreement = LocalAgreement()
    before: list[str] = []
    for hypothesis in hypotheses:
        stable = agreement.update(hypothesis)
        assert agreement.stable[: len(before)] == before
        assert agreement.unstable == hypothesis[stable:]
        before = list(agreement.stable)


def test_a_number_at_the_end_is_not_stable_while_its_digits_may_come() -> None:
    agreement = LocalAgreement()
    agreement.update(["order", "5"])
    for heard in ("order 5", "order 55", "order 551"):
        agreement.update(heard.split())
        assert agreement.stable == ["order"]
    agreement.update(["order", "551", "been"])
    agreement.update(["order", "551", "been", "shipped"])
    assert agreement.stable == ["order", "551", "been"]
