"""Where a new call goes, as a pure function of what workers tell."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from voiceagent.gateway.members import Member
from voiceagent.gateway.messages import WorkerStatus
from voiceagent.gateway.placement import JUST_PLACED_S, JustPlaced, by_hash, by_load


def member(number: int, calls: int = 0, *, region: str = "", **told: object) -> Member:
    status = {"phase": "ready", "reason": "", "calls": calls, "places": 8, **told}
    return Member(number, f"unix:/{number}", WorkerStatus(**status), region)  # type: ignore[arg-type]  # fields of several types


def order(*members: Member, **asked: object) -> list[int]:
    return [each.number for each in by_load(members, **asked)]  # type: ignore[arg-type]


def test_the_least_loaded_comes_first() -> None:
    assert order(member(1, 3), member(2, 1), member(3, 2)) == [2, 3, 1]


def test_load_is_a_share_of_the_places() -> None:
    assert order(member(1, 3, places=4), member(2, 4, places=16)) == [2, 1]


def test_those_who_wait_for_a_place_count() -> None:
    assert order(member(1, 2, waiting=3), member(2, 4)) == [2, 1]


def test_a_busy_event_loop_and_missed_budgets_count_as_load() -> None:
    assert order(member(1, 1, pressure=0.9), member(2, 3)) == [2, 1]
    assert order(member(1, 1, pressure=0.2), member(2, 3)) == [1, 2], "a little pressure is noise"
    assert order(member(1, 1, sheds=1), member(2, 2)) == [2, 1]


def test_one_under_pressure_comes_after_fuller_ones() -> None:
    assert order(member(1, 0, pressure=1.0), member(2, 7)) == [2, 1]


def test_those_that_take_no_calls_come_last() -> None:
    draining = member(1, phase="draining", reason="The server is draining: it ends when its calls have.")
    broken, loading = member(2, reason="speech recognition does not work"), member(3, phase="loading", reason="…")
    assert order(loading, draining, broken, member(4, 8)) == [4, 2, 1, 3]


def test_the_callers_region_goes_before_the_load() -> None:
    here, there = member(1, 5, region="eu"), member(2, 0, region="us")
    assert order(here, there, region="eu") == [1, 2]
    assert order(here, there) == [2, 1]


def test_calls_that_come_at_once_are_spread() -> None:
    placed, members = JustPlaced(), [member(1), member(2), member(3)]
    for _ in range(9):
        placed.add(by_load(members, placed.counts(0.0))[0].number, 0.0)
    assert Counter(number for _, number in placed._placed) == {1: 3, 2: 3, 3: 3}
    assert placed.counts(JUST_PLACED_S) == {}, "later they are in what the workers tell"


@given(st.binary(min_size=1, max_size=20), st.sets(st.integers(1, 65_535), min_size=2, max_size=8))
def test_a_key_finds_the_same_worker_while_that_lives(key: bytes, numbers: set[int]) -> None:
    members = [member(number) for number in numbers]
    first = by_hash(members, key)[0]
    assert by_hash(members[::-1], key)[0] == first
    gone = next(each for each in members if each != first)
    assert by_hash([each for each in members if each != gone], key)[0] == first


def test_keys_are_spread_over_the_workers() -> None:
    members = [member(1), member(2), member(3)]
    found = Counter(by_hash(members, str(key).encode())[0].number for key in range(300))
    assert min(found.values()) > 60
