"""When the event loop is late, or would be with one call more, no more calls are taken."""

from __future__ import annotations

import asyncio

import pytest

from voiceagent.conversation.rules import SpeculationRules
from voiceagent.server.calls.admission import CARRIED_ANYWAY, MAX_YOUNG, Admission
from voiceagent.server.calls.pressure import (
    BUSY_LIMIT,
    COST_BEATS,
    LAG_LIMIT_MS,
    STRAINED,
    WINDOW_BEATS,
    Beat,
    CallsUp,
    Pressure,
)
from voiceagent.server.http.problems import Problem
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.settings.agent import AdmissionSettings


def after(beat: Beat, beats: int = WINDOW_BEATS, up: CallsUp = CallsUp()) -> Pressure:  # noqa: B008 - it never changes
    pressure = Pressure()
    go_on(pressure, beat, beats, up)
    return pressure


def go_on(pressure: Pressure, beat: Beat, beats: int, up: CallsUp) -> None:
    pressure.calls_up = lambda: up
    for _ in range(beats):
        pressure.add(beat)


def test_a_loop_that_waits_is_under_no_pressure() -> None:
    assert after(Beat(0.0)).level == 0.0
    assert after(Beat(0.0), up=CallsUp(8, 8)).carries(1000)


@pytest.mark.parametrize(
    "beat", [Beat(LAG_LIMIT_MS), Beat(0.0, timers=20, late_timers=2), Beat(0.0, busy=BUSY_LIMIT)], ids=["lag", "late", "busy"]
)
def test_lag_late_timers_and_work_each_fill_the_server(beat: Beat) -> None:
    assert after(beat).level == pytest.approx(1.0)


def test_a_loop_that_takes_no_more_calls_still_has_time_for_speculative_replies() -> None:
    busy_load = SpeculationRules().busy_load
    assert after(Beat(0.0, busy=BUSY_LIMIT)).strain < busy_load
    assert after(Beat(0.0, busy=STRAINED * busy_load)).strain == pytest.approx(busy_load)
    for late in (Beat(LAG_LIMIT_MS), Beat(0.0, timers=20, late_timers=2)):
        assert after(late).strain == pytest.approx(1.0)


def test_one_stall_is_no_pressure() -> None:
    pressure = after(Beat(500.0), beats=2)
    assert pressure.level < 0.1


def test_what_the_calls_cost_says_how_many_fit() -> None:
    pressure = after(Beat(0.0, busy=BUSY_LIMIT / 2), up=CallsUp(8, 8))
    assert pressure.carries(15)
    assert not pressure.carries(17)


def test_calls_that_give_way_to_others_do_not_raise_what_a_call_costs() -> None:
    pressure = after(Beat(0.0, busy=BUSY_LIMIT / 2), up=CallsUp(8, 8))
    for connected, settled in ((5, 5), (2, 0), (6, 0), (8, 3), (8, 5)):
        go_on(pressure, Beat(0.0, busy=BUSY_LIMIT * 0.7), 6, CallsUp(connected, settled))
        assert pressure.carries(8)
    assert not pressure.carries(17)


@pytest.mark.parametrize("up", [CallsUp(3, 3), CallsUp(16, 8), CallsUp(8, 0)], ids=["too few", "half are young", "all are young"])
def test_while_no_cost_is_known_the_level_counts(up: CallsUp) -> None:
    assert after(Beat(0.0, busy=BUSY_LIMIT * 0.9), up=up).carries(100)
    assert not after(Beat(0.0, busy=BUSY_LIMIT * 1.1), up=up).carries(1)


def test_what_a_call_once_cost_is_forgotten() -> None:
    pressure = after(Beat(0.0, busy=BUSY_LIMIT), up=CallsUp(8, 8))
    go_on(pressure, Beat(0.0), COST_BEATS - 1, CallsUp(2, 2))
    assert not pressure.carries(9)
    go_on(pressure, Beat(0.0), 1, CallsUp(2, 2))
    assert pressure.carries(9)


async def test_a_late_loop_refuses_calls_but_the_first_few() -> None:
    door = Admission(AdmissionSettings(max_calls=64), Metrics())
    for _ in range(WINDOW_BEATS):
        door.pressure.add(Beat(2 * LAG_LIMIT_MS))
    for _ in range(CARRIED_ANYWAY):
        await door.admit()
    with pytest.raises(Problem) as refused:
        await door.admit()
    assert (refused.value.status, refused.value.code) == (503, "busy")
    assert refused.value.retry_after_s


async def test_calls_that_come_together_wait_until_the_first_ones_cost_is_known() -> None:
    door = Admission(AdmissionSettings(max_calls=64), Metrics())
    for _ in range(MAX_YOUNG):
        await door.admit()
    more = asyncio.create_task(door.admit())
    for _ in range(10):
        await asyncio.sleep(0)
    assert not more.done()
    for _ in range(WINDOW_BEATS):
        door.pressure.add(Beat(2 * LAG_LIMIT_MS))
    with pytest.raises(Problem) as refused:
        await more
    assert refused.value.code == "busy"
