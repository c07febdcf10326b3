"""The measures of who had the floor: each is right on both sides of its window."""

from __future__ import annotations

from typing import Any

import pytest

from voiceagent.scenarios.floor_events import FloorEvent, interaction, yield_failures


@pytest.mark.parametrize(
    ("event", "yields", "holds_floor"),
    [
        (FloorEvent("interruption", True, True, 1999.0, 300.0), True, False),
        (FloorEvent("interruption", True, True, 2001.0, 300.0), False, False),
        (FloorEvent("backchannel", True), False, True),
        (FloorEvent("backchannel", True, True, 400.0), True, False),
        (FloorEvent("sound", False, response_ms=900.0), False, False),
    ],
)
def test_an_agent_yields_or_keeps_the_floor(event: FloorEvent, yields: bool, holds_floor: bool) -> None:
    assert (not list(yield_failures(True, [event])), not list(yield_failures(False, [event]))) == (yields, holds_floor)


def test_what_was_not_measured_fails() -> None:
    assert list(yield_failures(False, [])) == ["yields false: nothing was said or done by speech that has a behaviour"]


def test_a_late_stop_is_wrong_but_within_the_windows_of_tau_voice() -> None:
    late, quick = FloorEvent("to_others", True, True, 1001.0, 2500.0), FloorEvent("to_others", True, True, 999.0)
    found: dict[str, Any] = interaction([late, quick, FloorEvent("to_others", True)])["to_others"]
    assert found["yielded_wrongly"] == pytest.approx(2 / 3)
    assert found["selectivity"] == pytest.approx(2 / 3)
    assert found["stop_ms"] == {"p50": 999.0, "max": 1001.0}


def test_each_behaviour_has_its_own_measures() -> None:
    found = interaction(
        [
            FloorEvent("turn", response_ms=300.0),
            FloorEvent("turn"),
            FloorEvent("interruption", True, True, 200.0, 500.0),
            FloorEvent("interruption", True),
            FloorEvent("stop", True, True, 150.0),
        ]
    )
    assert found["turn"]["response_rate"] == 0.5
    assert found["interruption"]["yield_rate"] == found["interruption"]["takeover_rate"] == 0.5
    assert found["stop"]["yield_rate"] == 1.0
    assert "takeover_rate" not in found["stop"], "a command to stop needs no answer"
