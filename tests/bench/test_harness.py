import json
from pathlib import Path

from bench.harness import Figure, at_most, markdown, result, write


def test_a_result_is_written_in_the_one_schema(tmp_path: Path) -> None:
    measured = result("calls", [at_most("voice to voice p50", 612.5, 750, "ms"), Figure("turns", 50, "", "", True)])
    data = json.loads(write(measured, tmp_path).read_text())
    assert list(data) == ["name", "date", "machine", "versions", "rows"]
    assert data["rows"][0] == {"name": "voice to voice p50", "value": 612.5, "unit": "ms", "target": "≤ 750", "ok": True}
    assert data["machine"]["cores"] > 0
    assert data["versions"]["voiceagent"]
    assert (tmp_path / "calls.md").read_text() == markdown(measured)


def test_the_table_shows_what_was_missed() -> None:
    measured = result("calls", [at_most("barge-in stop p95", 251, 250, "ms"), Figure("turns", 50, "", "", True)])
    assert not measured.ok
    assert "| barge-in stop p95 | 251 ms | ≤ 250 | **missed** |" in markdown(measured)
    assert "| turns | 50  |  |  |" in markdown(measured)
