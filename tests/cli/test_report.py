import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome
from tests.reports.measured import turns
from voiceagent.conversation.rules import Degradation
from voiceagent.latency.spans import LegKind, Span, Stage, TurnReport, WaitCause
from voiceagent.store.database import local_store
from voiceagent.store.turns import TurnStore
from voiceagent.store.writer import StoreWriter

Run = Callable[..., Outcome]


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    monkeypatch.setenv("VOICEAGENT_DATA", str(tmp_path))

    def put(*whole_ms: float, profile: str = "embedded", call_id: str = "c", leg: LegKind = LegKind.WEBRTC) -> None:
        writer = StoreWriter(local_store(tmp_path))
        store = TurnStore(writer)
        for number, ms in enumerate(whole_ms, 1):
            store.put(TurnReport(call_id, number, 0.0, profile, (Span(Stage.VAD, 0, 5),), ms, None, leg))
        writer.close()

    return put


def test_within_budget_the_gate_holds(voiceagent: Run, measured: Callable[..., None]) -> None:
    measured(250, 300, 900)
    outcome = voiceagent("report", "--gate")
    assert outcome.code == 0
    assert "embedded: 3 turns" in outcome.out
    assert "300 / 350" in outcome.out


def test_over_budget_only_the_gate_fails(voiceagent: Run, measured: Callable[..., None]) -> None:
    measured(300, 800, 990)
    assert voiceagent("report").code == 0
    outcome = voiceagent("report", "--gate")
    assert outcome.code == 1
    assert "p50 p95 over" in outcome.out


def test_json_names_what_is_over(voiceagent: Run, measured: Callable[..., None]) -> None:
    measured(300, 800, 990)
    measured(1400, profile="cpu")
    found = json.loads(voiceagent("report", "--json").out)
    assert found["embedded"]["turns"] == 3
    whole = found["embedded"]["stages"]["voice_to_voice"]
    assert whole["measured_ms"] == {"p50": 800, "p95": 990, "p99": 990}
    assert whole["over"] == ["p50", "p95"]
    assert found["embedded"]["stages"]["tool"]["measured_ms"] is None
    assert found["cpu"]["stages"]["voice_to_voice"]["over"] == []


def test_a_call_and_a_number_of_turns_are_chosen(voiceagent: Run, measured: Callable[..., None]) -> None:
    measured(2000, call_id="slow")
    measured(300, 300, call_id="quick")
    assert voiceagent("report", "--call", "quick", "--gate").code == 0
    assert voiceagent("report", "--last", "2", "--gate").code == 0
    assert voiceagent("report", "--last", "3", "--gate").code == 1


def test_legs_are_judged_apart_each_by_its_own_limits(voiceagent: Run, measured: Callable[..., None]) -> None:
    measured(300, 900)
    measured(430, 1060, leg=LegKind.TELEPHONE)
    measured(400, profile="cpu", leg=LegKind.TELEPHONE)
    found = json.loads(voiceagent("report", "--json").out)
    assert {name: group["turns"] for name, group in found.items()} == {
        "embedded": 2,
        "embedded/telephone": 2,
        "cpu/telephone": 1,
    }
    whole = found["embedded/telephone"]["stages"]["voice_to_voice"]
    assert whole["limit_ms"]["p50"] == 470 > found["embedded"]["stages"]["voice_to_voice"]["limit_ms"]["p50"]
    assert whole["over"] == []
    assert found["cpu/telephone"]["stages"]["voice_to_voice"]["limit_ms"]["p50"] == 1620
    assert list(json.loads(voiceagent("report", "--json", "--leg", "webrtc").out)) == ["embedded"]
    assert voiceagent("report", "--leg", "websocket").code == 2
    assert "telephone" in voiceagent("report", "--leg", "pigeon").err


def test_no_data_is_told_with_code_2(voiceagent: Run, measured: Callable[..., None]) -> None:
    outcome = voiceagent("report")
    assert outcome.code == 2
    assert "nothing is kept there yet" in outcome.err
    measured(600)
    outcome = voiceagent("report", "--profile", "gpu")
    assert outcome.code == 2
    assert "no measured turn fits" in outcome.err


def test_a_wrong_budgets_file_is_one_line(voiceagent: Run, measured: Callable[..., None], tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("embedded: 3")
    outcome = voiceagent("report", "--budgets", str(tmp_path / "b.yaml"))
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1
    assert "b.yaml:1: expected a mapping of stages, found '3'" in outcome.err


def test_a_wrong_option_is_usage(voiceagent: Run) -> None:
    outcome = voiceagent("report", "--last", "0")
    assert outcome.code == 2
    assert "--last" in outcome.err


def test_a_call_is_found_by_the_beginning_of_its_id(voiceagent: Run, measured: Callable[..., None]) -> None:
    for call_id in ("rtc_1a", "rtc_1b", "rtc_2"):
        measured(300, call_id=call_id)
    assert "1 turn," in voiceagent("report", "--call", "1a").out
    assert "1 turn," in voiceagent("report", "--call", "rtc_2").out
    outcome = voiceagent("report", "--call", "1")
    assert (outcome.code, outcome.err) == (2, "error: 2 calls begin with '1': rtc_1a, rtc_1b; write more of the id\n")
    assert voiceagent("report", "--call", "3").code == 2


def put_turns(found: list[TurnReport], folder: Path) -> None:
    writer = StoreWriter(local_store(folder))
    store = TurnStore(writer)
    for one in found:
        store.put(one)
    writer.close()


def test_the_stage_that_became_slower_is_named(voiceagent: Run, measured: Callable[..., None], tmp_path: Path) -> None:
    put_turns(turns(200, 1, at=1000.0), tmp_path)
    assert voiceagent("report", "--last", "200", "--format", "csv", "--out", str(tmp_path / "before.csv")).code == 0
    put_turns(turns(200, 2, {WaitCause.LLM_TTFT: 30.0}, at=200_000.0), tmp_path)
    later = ("--since", "1970-01-02T12:00")
    found = voiceagent("report", *later, "--compare", str(tmp_path / "before.csv"), "--gate")
    assert "To blame: llm_ttft" in found.out
    by_time = json.loads(voiceagent("report", "--compare", "1970-01-02T12:00", "--format", "json").out)
    assert by_time["to_blame"] == "llm_ttft"
    assert by_time["turns"] == {"before": 200, "after": 200}
    same = voiceagent("report", "--until", "1970-01-02T12:00", "--compare", str(tmp_path / "before.csv"), "--gate")
    assert same.code == 0
    assert "as long as before" in same.out


def test_turns_that_went_without_something_are_counted(voiceagent: Run, measured: Callable[..., None], tmp_path: Path) -> None:
    found = turns(4, 1, at=1000.0)
    short = replace(found[0].facts, degraded=(Degradation.FEWER_PARTIALS, Degradation.SHORT_REPLIES))
    put_turns([replace(found[0], facts=short), *found[1:]], tmp_path)
    assert "Degraded: 1 of 4 turns (fewer_partials 1, short_replies 1)." in voiceagent("report").out


def test_a_time_is_chosen_and_the_counts_are_told(voiceagent: Run, measured: Callable[..., None], tmp_path: Path) -> None:
    put_turns([*turns(6, 1, at=1000.0), *turns(4, 2, at=200_000.0)], tmp_path)
    assert "cpu: 4 turns" in (found := voiceagent("report", "--since", "1970-01-02T12:00").out)
    assert "4 completed" in found
    assert "Tokens: 1200 read, 80 written" in found
    assert "Steps: slot 4." in found
    assert "Degraded: " not in found
    assert "cpu: 10 turns" in voiceagent("report").out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--compare", "before.csv"), "before.csv: cannot be read"),
        (("--compare", "yesterday"), "'yesterday' is no time"),
        (("--compare", "1d", "--format", "junit"), "--compare writes text or json"),
        (("--out", "x.txt"), "--out needs a --format"),
        (("--format", "csv", "--out", "/nowhere/x.csv"), "name a writable place"),
    ],
)
def test_what_makes_no_sense_is_one_line(
    voiceagent: Run, measured: Callable[..., None], options: tuple[str, ...], said: str
) -> None:
    measured(300)
    outcome = voiceagent("report", *options)
    assert outcome.code in (1, 2)
    assert said in outcome.err
