import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.latency.budgets import distribution, percentile

durations_ms = st.lists(st.floats(0, 1e6, allow_nan=False), min_size=1, max_size=200)


def test_a_percentile_is_the_nearest_rank() -> None:
    values = [float(v) for v in range(1, 101)]
    assert [percentile(values, p) for p in (0, 50, 95, 99, 100)] == [1, 50, 95, 99, 100]
    assert percentile([7.0], 99) == 7.0


def test_the_p99_of_few_turns_is_the_worst_of_them() -> None:
    assert percentile([1.0, 900.0, 2.0], 99) == 900.0


def test_no_values_have_no_percentile() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentile([], 50)


@given(durations_ms, st.floats(0, 100))
def test_at_least_the_asked_share_does_not_exceed_a_percentile(values: list[float], percent: float) -> None:
    found = percentile(values, percent)
    assert found in values
    assert sum(v <= found for v in values) * 100 >= percent * len(values)


@given(durations_ms)
def test_percentiles_do_not_decrease(values: list[float]) -> None:
    found = distribution(values)
    assert found.p50_ms <= found.p95_ms <= found.p99_ms <= max(values)
