"""When a worker is started and when one is drained. Neither Ray nor a clock takes part."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.cluster.autoscale import START_WITHIN_S, Decision, ScaleMemory, ScaleSettings, WorkerLoad, decide

SETTINGS = ScaleSettings(min_workers=1, max_workers=4, idle_places=2, surplus_places=1, shrink_after_s=120, pause_s=60)
NEVER = ScaleMemory()


def worker(number: int, calls: int = 0, places: int = 4, **facts: object) -> WorkerLoad:
    return replace(WorkerLoad(number, calls, places), **facts)  # type: ignore[arg-type]


def decided(*workers: WorkerLoad, memory: ScaleMemory = NEVER, now_s: float = 1000.0) -> Decision:
    return decide(workers, SETTINGS, memory, now_s)


def test_workers_that_are_missing_are_started_at_once() -> None:
    found = decide((), replace(SETTINGS, min_workers=3), NEVER, 5.0)
    assert (found.start, found.drain, found.memory.changed_s) == (3, None, 5.0)
    assert found.reason == "0 of at least 3 workers are there"


def test_nothing_is_done_while_the_warm_pool_is_full_and_no_fuller() -> None:
    assert decided(worker(1, calls=2)) == Decision()


def test_a_worker_is_started_before_the_last_place_is_taken() -> None:
    assert decided(worker(1, calls=3)).start == 1


def test_a_loaded_event_loop_counts_as_no_free_place() -> None:
    assert decided(worker(1, calls=1, level=0.9)).start == 1


def test_a_worker_that_loads_its_models_is_not_asked_for_twice() -> None:
    assert decided(worker(1, calls=4), worker(2, is_ready=False, unready_s=5.0)).start == 0
    assert decided(worker(1, calls=4), worker(2, is_ready=False, unready_s=START_WITHIN_S)).start == 1


def test_there_are_never_more_than_the_settings_say() -> None:
    assert decided(*(worker(number, calls=4) for number in range(1, 5))).start == 0


def test_a_draining_worker_is_replaced_where_it_is_needed() -> None:
    assert decided(worker(1, is_draining=True)).start == 1


def test_a_surplus_must_last_before_a_worker_is_drained_and_the_emptiest_one_is() -> None:
    workers = worker(1, calls=1), worker(2), worker(3)
    first = decided(*workers, now_s=1000.0)
    assert (first.drain, first.memory.surplus_since_s) == (None, 1000.0)
    assert decided(*workers, memory=first.memory, now_s=1119.0).drain is None
    last = decided(*workers, memory=first.memory, now_s=1120.0)
    assert (last.drain, last.memory.surplus_since_s) == (3, None)
    assert decided(worker(1, calls=1), worker(2), worker(3, is_draining=True), memory=last.memory, now_s=1121.0).drain is None


def test_a_surplus_that_went_is_counted_from_its_next_beginning() -> None:
    gone = decided(worker(1, calls=2), worker(2, calls=3), memory=ScaleMemory(surplus_since_s=0.0))
    assert gone == Decision(memory=ScaleMemory())


def test_after_a_change_nothing_is_drained_for_a_while() -> None:
    memory = ScaleMemory(surplus_since_s=0.0, changed_s=950.0)
    assert decided(worker(1), worker(2), memory=memory).drain is None
    assert decided(worker(1), worker(2), memory=memory, now_s=1010.0).drain == 2


def test_a_worker_is_kept_while_its_calls_would_find_no_other_place() -> None:
    """A drained worker's callers may be asked to call again."""
    memory = ScaleMemory(surplus_since_s=0.0)
    assert decided(worker(1, calls=2), worker(2, calls=2), memory=memory).drain is None


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="min_workers is 3, expected at most max_workers, which is 2"):
        ScaleSettings(min_workers=3, max_workers=2)


loads = st.builds(
    WorkerLoad,
    number=st.integers(1, 0xFFFF),
    calls=st.integers(0, 8),
    places=st.integers(1, 8),
    level=st.floats(0, 2),
    is_ready=st.booleans(),
    is_draining=st.booleans(),
    unready_s=st.floats(0, 200),
)


@given(st.lists(loads, max_size=8, unique_by=lambda load: load.number), st.floats(0, 1e6), st.none() | st.floats(0, 1e6))
def test_a_decision_never_starts_and_drains_and_stays_within_the_bounds(
    workers: list[WorkerLoad], now_s: float, since_s: float | None
) -> None:
    found = decide(workers, SETTINGS, ScaleMemory(surplus_since_s=since_s), now_s)
    serving = {load.number for load in workers if not load.is_draining}
    assert not (found.start and found.drain is not None)
    assert len(serving) + found.start <= max(SETTINGS.max_workers, len(serving))
    if found.drain is not None:
        assert found.drain in serving
        assert len(serving) > SETTINGS.min_workers


@given(st.lists(st.integers(0, 12), min_size=20, max_size=60))
def test_however_calls_come_and_go_no_worker_is_started_right_after_one_was_drained_for_them(calls_by_minute: list[int]) -> None:
    """A minute a step. What was drained for want of calls is missed only when more calls than then are up."""
    workers = [worker(1, places=4)]
    memory, drained_with, number = NEVER, 0, 1
    for minute, calls in enumerate(calls_by_minute):
        left, spread = calls, []
        for each in workers:
            taken = min(left, each.places)
            spread.append(replace(each, calls=taken))
            left -= taken
        found = decide(spread, SETTINGS, memory, minute * 60.0)
        memory = found.memory
        if found.drain is not None:
            workers = [each for each in workers if each.number != found.drain]
            drained_with = calls
        elif found.start:
            assert not drained_with or calls > drained_with
            for _ in range(found.start):
                number += 1
                workers.append(worker(number, places=4))
            drained_with = 0
