import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome

Run = Callable[..., Outcome]


def test_simulated_calls_are_summed_up(voiceagent: Run) -> None:
    outcome = voiceagent("bench", "simulate", "--calls", "50", "--jobs", "1")
    assert outcome.code == 0
    assert "the speculative reply was" in outcome.out
    assert "50 calls" in outcome.out
    found = json.loads(voiceagent("bench", "simulate", "--calls", "50", "--jobs", "1", "--json").out)
    assert found["calls"] == 50
    assert found["broken"] == []
    assert found["times_ms"]["end of a request until the endpoint"]["p50"] > 0


def test_a_simulated_call_replays(voiceagent: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert voiceagent("bench", "simulate", "--save", "17").code == 0
    assert voiceagent("replay", "simulated-17.jsonl", "--quiet").code == 0


def test_saving_a_call_leaves_other_files_alone(voiceagent: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(10_001):
        (tmp_path / f"{number}.jsonl").touch()
    assert voiceagent("bench", "simulate", "--save", "17").code == 0
    assert len(list(tmp_path.iterdir())) == 10_002
