"""What an agent knows of how long its tools take."""

from __future__ import annotations

from voiceagent.tools.runner import RunTimes


def test_how_long_a_tool_takes_follows_its_latest_runs() -> None:
    times = RunTimes()
    assert times.typical_ms("get_order") == 0.0
    times.took("get_order", 800.0)
    assert times.typical_ms("get_order") == 800.0
    for _ in range(20):
        times.took("get_order", 5.0)
    assert 5.0 < times.typical_ms("get_order") < 10.0
