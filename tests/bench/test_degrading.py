"""Budget actions on a machine in virtual time. `python -m bench degrading_real` measures them on a real one."""

from __future__ import annotations

import pytest

from bench.degrading import BY_MODEL, BY_WAIT, KEPT, MACHINES, SHED, WARN, WITH_TOOLS, Kind, loaded, p95_ms

END_MS = 240_000.0


def test_degrading_keeps_the_p95_where_without_it_it_doubles() -> None:
    _, costs, usual, many = MACHINES[0]
    before, warned, degraded = (
        loaded(kind, costs, calls, END_MS) for kind, calls in ((WARN, usual), (WARN, many), (BY_MODEL, many))
    )
    assert p95_ms(warned) >= 2 * p95_ms(before)
    assert p95_ms(degraded) <= KEPT * p95_ms(before)
    assert degraded.words / len(degraded.turns) < warned.words / len(warned.turns)
    assert not any(turn.facts.degraded for _, turn in warned.turns)


@pytest.mark.parametrize(
    ("machine", "kind"),
    [(0, WITH_TOOLS), (0, BY_WAIT), (0, SHED), (1, BY_WAIT), (1, SHED)],
    ids=lambda one: getattr(one, "name", one),
)
def test_so_it_does_with_tools_by_the_whole_wait_and_where_hearing_is_slow(machine: int, kind: Kind) -> None:
    _, costs, usual, many = MACHINES[machine]
    before, degraded = loaded(WARN, costs, usual, END_MS), loaded(kind, costs, many, END_MS)
    assert p95_ms(degraded) <= KEPT * p95_ms(before)
