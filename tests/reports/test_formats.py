"""What a report gives to programs, read by those programs' own readers."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from prometheus_client.core import Metric
from prometheus_client.openmetrics import parser

from tests.reports.measured import turns
from voiceagent.errors import ConfigError
from voiceagent.latency.budgets import load_budgets
from voiceagent.latency.spans import RESPONSIBLE, LegKind, WaitCause
from voiceagent.reports.formats import as_data, as_junit, as_openmetrics
from voiceagent.reports.turn_groups import grouped
from voiceagent.reports.turn_table import as_csv, read_csv, row
from voiceagent.resources import default_budgets_file

BUDGETS = load_budgets(default_budgets_file())
SLOW = {WaitCause.LLM_TTFT: 900.0}
TURNS = [*turns(60, 1), *turns(30, 2, SLOW, leg=LegKind.TELEPHONE)]


def test_the_parts_of_a_wait_add_up_and_each_has_an_owner() -> None:
    for group in as_data(grouped(TURNS, BUDGETS)).values():
        whole_ms = sum(part["mean_ms"] for part in group["wait"])
        assert whole_ms == pytest.approx(sum(group["mean_wait_ms"].values()))
        assert all(part["owner"] for part in group["wait"])
    assert set(RESPONSIBLE) == set(WaitCause)


def test_the_jitter_of_packets_stands_in_the_report_where_it_was_measured() -> None:
    group = as_data(grouped(TURNS, BUDGETS))["cpu"]
    assert group["jitter_ms"] == {"in": {"count": 60, "p50": 1.25, "p95": 1.25, "p99": 1.25}}
    header, first, *_ = as_csv(TURNS).splitlines()
    cells = dict(zip(header.split(","), first.split(","), strict=True))
    assert (cells["jitter_in_ms"], cells["jitter_out_ms"]) == ("1.25", "")


def test_a_table_from_before_jitter_was_measured_is_read(tmp_path: Path) -> None:
    lines = [line.split(",") for line in as_csv(TURNS).splitlines()]
    kept = [i for i, name in enumerate(lines[0]) if not name.startswith("jitter")]
    (tmp_path / "before.csv").write_text("".join(",".join(line[i] for i in kept) + "\n" for line in lines), encoding="utf-8")
    assert len(read_csv(tmp_path / "before.csv")) == len(TURNS)


def test_openmetrics_are_read_by_prometheus_own_parser() -> None:
    read: Callable[[str], Iterable[Metric]] = parser.text_string_to_metric_families
    families = {family.name: family for family in read(as_openmetrics(grouped(TURNS, BUDGETS)))}
    counted = {sample.labels["leg"]: sample.value for sample in families["voiceagent_report_turns"].samples}
    assert counted == {"webrtc": 60, "telephone": 30}
    assert {sample.labels["quantile"] for sample in families["voiceagent_report_stage_seconds"].samples} == {
        "0.50",
        "0.95",
        "0.99",
    }


def test_junit_has_a_failure_for_each_limit_that_is_missed() -> None:
    root = ET.fromstring(as_junit(grouped(TURNS, BUDGETS)))
    telephone = next(suite for suite in root if suite.get("name") == "cpu/telephone")
    failed = {f"{case.get('classname')} {case.get('name')}" for case in telephone if case.find("failure") is not None}
    assert "cpu/telephone.llm_ttft p50" in failed
    assert telephone.get("failures") == str(len(failed))
    assert int(telephone.get("skipped") or 0) > 0


def test_turns_come_back_from_csv(tmp_path: Path) -> None:
    (tmp_path / "turns.csv").write_text(as_csv(TURNS), encoding="utf-8")
    for written, read in zip(map(row, TURNS), read_csv(tmp_path / "turns.csv"), strict=True):
        assert read.call == written.call
        assert read.whole_ms == pytest.approx(written.whole_ms, abs=0.01)
        assert read.wait_ms == pytest.approx(written.wait_ms, abs=0.01)
        assert read.stages_ms == pytest.approx(written.stages_ms, abs=0.01)


@pytest.mark.parametrize("text", ["", "call,turn\nx,1\n", "\0\xff"])
def test_another_file_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "turns.csv").write_text(text, encoding="latin-1")
    with pytest.raises(ConfigError, match=r"turns.csv: .*report --format csv"):
        read_csv(tmp_path / "turns.csv")
