"""The interval beside a share of turns that were cut off."""

from __future__ import annotations

import pytest

from bench.held_out import interval


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [(0, 10, 0.0, 0.278), (1, 10, 0.018, 0.404), (10, 10, 0.722, 1.0), (50, 100, 0.404, 0.596)],
)
def test_the_interval_of_a_share_is_that_of_the_tables(hits: int, of: int, low: float, high: float) -> None:
    assert interval(hits, of) == pytest.approx((low, high), abs=0.001)
