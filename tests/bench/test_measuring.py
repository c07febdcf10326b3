"""The figures of what measuring costs."""

from __future__ import annotations

import pytest

from bench.measuring import Run, rows


@pytest.mark.parametrize(("more", "ok"), [(1.01, True), (1.03, False)])
def test_the_mean_of_the_pairs_is_held_to_the_promise(more: float, ok: bool) -> None:
    off = [Run(cpu_ms, 0.5, 0.0, 0, {}) for cpu_ms in (20.0, 25.0, 30.0)]
    on = [Run(one.cpu_ms * more, 0.5, 60.0, 9, {}) for one in off]
    counted = Run(25.0, 0.5, 60.0, 9, {"counters": 0.1, "traces": 0.2})
    figures = {figure.name: figure for figure in rows(on, off, counted)}
    assert figures["all measuring: more CPU"].value == pytest.approx((more - 1) * 100)
    assert figures["all measuring: more CPU"].ok == ok
    assert figures["all measuring: more CPU, 95 % from"].value == figures["all measuring: more CPU, 95 % to"].value
    assert figures["counted: together"].value == pytest.approx(1.2)
    assert figures["turns that a run counted, all measuring on, least"].ok
    assert figures["turns that a run counted, all measuring off, most"].ok
