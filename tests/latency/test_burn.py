from __future__ import annotations

import sys
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from voiceagent.latency.burn import DWELL_S, LADDERS, LASTING_DWELL_S, MOST_DWELL_S, BudgetBurn, OnMiss
from voiceagent.latency.spans import Stage

STAGE = Stage.STT_WAIT
turn_stream = st.lists(st.tuples(st.floats(0, 40), st.booleans()), max_size=150)
"""Turns: the seconds since the one before, and whether the stage missed its limit."""


def burn(on_miss: OnMiss = OnMiss.SHED) -> BudgetBurn:
    return BudgetBurn({STAGE: on_miss})


def turns(
    budget: BudgetBurn, from_s: float, to_s: float, *, missed: bool, every_s: float = 1.0
) -> list[tuple[float, OnMiss | None]]:
    """A turn every `every_s`. Returns the changes of the level, with their times."""
    changes, now_s = [], from_s
    while now_s < to_s:
        changes += [(now_s, one.level) for one in budget.turn(now_s, [STAGE], [STAGE] if missed else [])]
        now_s += every_s
    return changes


def test_a_stage_that_misses_on_and_on_is_degraded_and_shed_after_its_dwell() -> None:
    budget = burn()
    turns(budget, 0, 120, missed=False)
    changes = turns(budget, 120, 180, missed=True)
    assert [level for _, level in changes] == [OnMiss.DEGRADE, OnMiss.SHED]
    assert 8 <= changes[0][0] - 120 <= 20
    assert changes[1][0] - changes[0][0] >= DWELL_S


def test_misses_within_the_budget_and_a_single_bad_moment_change_nothing() -> None:
    budget = burn()
    for second in range(600):
        assert not budget.turn(second, [STAGE], [STAGE] if second % 20 == 0 else [])
    assert not turns(budget, 600, 604, missed=True)


def test_few_turns_are_no_trend() -> None:
    assert not turns(burn(), 0, 90, missed=True, every_s=30)


def test_it_is_over_when_both_windows_keep_the_budget_even_if_no_turn_comes_any_more() -> None:
    budget = burn(OnMiss.DEGRADE)
    turns(budget, 0, 30, missed=True)
    assert budget.level(STAGE) is OnMiss.DEGRADE
    assert not budget.at(60)
    assert [one.level for one in budget.at(100)] == [None]


def test_a_load_that_lasts_turns_the_actions_off_and_on_ever_more_rarely() -> None:
    """The turns are in time while the stage is degraded, and late while it is not."""
    budget, lasted, since_s, late_turns = burn(OnMiss.DEGRADE), [], 0, 0
    for second in range(4 * 3600):
        late = budget.level(STAGE) is None
        late_turns += late
        for one in budget.turn(second, [STAGE], [STAGE] if late else []):
            if one.level is None:
                lasted.append(second - since_s)
            since_s = second
    assert LASTING_DWELL_S <= lasted[0] < LASTING_DWELL_S + 10
    assert lasted[-1] == max(lasted) >= MOST_DWELL_S
    assert late_turns < 0.015 * 4 * 3600


def test_under_half_as_many_turns_it_is_over_sooner() -> None:
    for every_s, lasts_s in ((1.0, LASTING_DWELL_S), (2.5, 65)):
        budget = burn(OnMiss.DEGRADE)
        turns(budget, 0, 70, missed=False)
        (began_s, _), *_ = turns(budget, 70, 90, missed=True)
        changes = turns(budget, 90, 400, missed=False, every_s=every_s)
        assert [level for _, level in changes] == [None]
        assert lasts_s <= changes[0][0] - began_s <= lasts_s + 25


def test_a_warning_which_changes_nothing_is_over_as_soon_as_the_budget_is_kept() -> None:
    budget = BudgetBurn()
    (began_s, _), *_ = turns(budget, 0, 20, missed=True)
    changes = turns(budget, 20, 300, missed=False)
    assert [level for _, level in changes] == [None]
    assert DWELL_S <= changes[0][0] - began_s <= 85


def test_what_begins_again_is_noticed_by_the_last_seconds_alone() -> None:
    budget = burn(OnMiss.DEGRADE)
    turns(budget, 0, 600, missed=False)
    (first_s, _), *_ = turns(budget, 600, 620, missed=True)
    over = turns(budget, 620, 780, missed=False)
    (again_s, _), *_ = again = turns(budget, 780, 800, missed=True)
    assert [level for _, level in (*over, *again)] == [None, OnMiss.DEGRADE]
    assert again_s - 780 < first_s - 600


def test_steps_are_left_one_at_a_time() -> None:
    budget, sheds = burn(), []
    turns(budget, 0, 80, missed=True)
    for second in range(80, 700):
        budget.turn(second, [STAGE], [])
        sheds.append(budget.sheds())
    assert [sheds[0], *(after for before, after in pairwise(sheds) if before != after)] == [2, 1, 0]


def test_warn_never_leads_to_an_action() -> None:
    budget = BudgetBurn()
    assert [level for _, level in turns(budget, 0, 900, missed=True)] == [OnMiss.WARN]


@given(turn_stream)
def test_no_level_is_left_before_its_dwell_is_over(stream: list[tuple[float, bool]]) -> None:
    budget, now_s, changes = burn(), 0.0, []
    for wait_s, missed in stream:
        now_s += wait_s
        changes += [(now_s, one.level) for one in budget.turn(now_s, [STAGE], [STAGE] if missed else [])]
    for (before_s, level), (after_s, _) in pairwise(changes):
        assert level is None or after_s - before_s >= DWELL_S


@given(turn_stream)
def test_a_miss_never_lowers_a_level_and_a_turn_in_time_never_raises_it(stream: list[tuple[float, bool]]) -> None:
    budget, now_s = burn(), 0.0
    for wait_s, missed in stream:
        now_s += wait_s
        budget.at(now_s)
        before = step(budget)
        budget.turn(now_s, [STAGE], [STAGE] if missed else [])
        assert step(budget) >= before if missed else step(budget) <= before


@given(turn_stream, st.data())
def test_more_misses_never_give_a_lower_burn_rate(stream: list[tuple[float, bool]], data: st.DataObject) -> None:
    fewer, more, now_s = burn(), burn(), 0.0
    for wait_s, missed in stream:
        now_s += wait_s
        fewer.turn(now_s, [STAGE], [STAGE] if missed else [])
        more.turn(now_s, [STAGE], [STAGE] if missed or data.draw(st.booleans()) else [])
    for few, many in zip(fewer.rates(), more.rates(), strict=True):
        assert many.short >= few.short
        assert many.long >= few.long


@given(turn_stream)
def test_the_same_turns_give_the_same_levels(stream: list[tuple[float, bool]]) -> None:
    def levels() -> list[OnMiss | None]:
        budget, now_s, found = burn(), 0.0, []
        for wait_s, missed in stream:
            now_s += wait_s
            budget.turn(now_s, [STAGE], [STAGE] if missed else [])
            found.append(budget.level(STAGE))
        return found

    assert levels() == levels()


def test_a_clock_that_goes_back_stands_still() -> None:
    budget = burn()
    turns(budget, 100, 130, missed=True)
    known = budget.rates()
    budget.at(5)
    assert budget.rates() == known


def test_it_keeps_no_more_after_a_day_of_turns() -> None:
    budget = burn()
    turns(budget, 0, 100, missed=True)
    small = size(budget)
    turns(budget, 100, 20_000, missed=True)
    budget.at(1e12)
    assert size(budget) <= small


def step(budget: BudgetBurn) -> int:
    level = budget.level(STAGE)
    return 0 if level is None else 1 + LADDERS[OnMiss.SHED].index(level)


def size(budget: BudgetBurn) -> int:
    return sum(sys.getsizeof(one._counts) + sum(map(sys.getsizeof, one._counts)) for one in budget._stages.values())
