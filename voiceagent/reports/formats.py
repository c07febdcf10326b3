"""A report for programs: JSON, JUnit's XML for test runners, and OpenMetrics."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from voiceagent.json_types import JsonObject
from voiceagent.latency.budgets import StageComparison
from voiceagent.latency.spans import RESPONSIBLE
from voiceagent.reports.comparison import Change, Comparison
from voiceagent.reports.turn_groups import TurnGroup

PERCENTILES = ("p50", "p95", "p99")
OPENMETRICS = "application/openmetrics-text; version=1.0.0"


def as_data(groups: Sequence[TurnGroup]) -> JsonObject:
    """The report as JSON, by group."""
    return {
        group.name: {
            "turns": len(group.turns),
            "stages": {stage.stage.value: _stage(stage) for stage in group.stages},
            "mean_wait_ms": {part.part.value: part.mean_ms for part in group.parts()},
            "wait": [
                {
                    "part": part.part.value,
                    "owner": RESPONSIBLE[part.part].owner,
                    "setting": RESPONSIBLE[part.part].setting,
                    "mean_ms": part.mean_ms,
                    "p50_ms": part.p50_ms,
                    "p95_ms": part.p95_ms,
                }
                for part in group.parts()
            ],
            "jitter_ms": {
                name: {"count": found.count, "p50": found.p50_ms, "p95": found.p95_ms, "p99": found.p99_ms}
                for name, found in group.jitter().items()
            },
            "counts": asdict(group.counts()),
        }
        for group in groups
    }


def _stage(stage: StageComparison) -> JsonObject:
    measured, limits = stage.measured, stage.limits
    found = None if measured is None else {"p50": measured.p50_ms, "p95": measured.p95_ms, "p99": measured.p99_ms}
    return {
        "count": measured.count if measured else 0,
        "measured_ms": found,
        "limit_ms": {"p50": limits.p50_ms, "p95": limits.p95_ms, "p99": limits.p99_ms},
        "over": list(stage.over),
    }


def compared_as_data(compared: Comparison) -> JsonObject:
    """A comparison as JSON."""
    blamed = compared.to_blame
    return {
        "turns": {"before": compared.turns[0], "after": compared.turns[1]},
        "resampled": "calls" if compared.by_calls else "turns",
        "voice_to_voice": {
            **_change(compared.whole),
            "p50_ms": {"before": compared.p50_ms[0], "after": compared.p50_ms[1]},
            "p95_ms": {"before": compared.p95_ms[0], "after": compared.p95_ms[1]},
        },
        "to_blame": None if blamed is None else blamed.name,
        "wait": [_change(part) for part in compared.parts],
        "stages": [_change(stage) for stage in compared.stages],
        "slower_unnoticed": [stage.name for stage in compared.slower_unnoticed],
    }


def _change(change: Change) -> JsonObject:
    return {
        "name": change.name,
        "mean_ms": {"before": change.before_ms, "after": change.after_ms},
        "difference_ms": change.difference_ms,
        "interval_ms": [change.low_ms, change.high_ms],
    }


def as_junit(groups: Sequence[TurnGroup]) -> str:
    """A test suite a group, a test case a limit; a stage that was not measured is skipped."""
    root = ET.Element("testsuites", name="voiceagent report")
    for group in groups:
        suite = ET.SubElement(root, "testsuite", name=group.name, tests="0", failures="0", skipped="0")
        for stage in group.stages:
            for percentile in PERCENTILES:
                case = ET.SubElement(suite, "testcase", classname=f"{group.name}.{stage.stage}", name=percentile)
                limit = getattr(stage.limits, f"{percentile}_ms")
                if stage.measured is None:
                    ET.SubElement(case, "skipped", message="no turn has it")
                    continue
                ms = getattr(stage.measured, f"{percentile}_ms")
                case.set("time", f"{ms / 1000:.3f}")
                if percentile in stage.over:
                    ET.SubElement(case, "failure", message=f"{ms:.0f} ms, limit {limit:g} ms, {stage.measured.count} measured")
        suite.set("tests", str(len(suite)))
        for kind, tag in (("failures", "failure"), ("skipped", "skipped")):
            suite.set(kind, str(sum(case.find(tag) is not None for case in suite)))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def as_openmetrics(groups: Sequence[TurnGroup]) -> str:
    """The percentiles, limits and counts in the text format of OpenMetrics 1.0, for a push gateway or a text file collector."""
    encode, _ = choose_encoder(OPENMETRICS)
    return encode(_Groups(groups)).decode()


class _Groups(Collector):
    def __init__(self, groups: Sequence[TurnGroup]) -> None:
        self._groups = groups

    def collect(self) -> Iterator[Metric]:
        """The metrics of all groups."""
        labels = ("profile", "leg", "stage", "quantile")
        measured = GaugeMetricFamily("voiceagent_report_stage_seconds", "A percentile of a stage's times.", labels=labels)
        limits = GaugeMetricFamily("voiceagent_report_limit_seconds", "Its limit.", labels=labels)
        turns = GaugeMetricFamily("voiceagent_report_turns", "The turns of the report.", labels=labels[:2])
        cut_offs = GaugeMetricFamily("voiceagent_report_cut_offs", "Callers who were probably cut off.", labels=labels[:2])
        parts = GaugeMetricFamily(
            "voiceagent_report_wait_seconds", "The mean wait by part.", labels=(*labels[:2], "part", "owner")
        )
        for group in self._groups:
            of = (group.profile, group.leg.value)
            turns.add_metric(of, len(group.turns))
            cut_offs.add_metric(of, group.counts().cut_offs)
            for part in group.parts():
                parts.add_metric((*of, part.part.value, RESPONSIBLE[part.part].owner), part.mean_ms / 1000)
            for stage in group.stages:
                for percentile in PERCENTILES:
                    place = (*of, stage.stage.value, f"0.{percentile[1:]}")
                    limits.add_metric(place, getattr(stage.limits, f"{percentile}_ms") / 1000)
                    if stage.measured is not None:
                        measured.add_metric(place, getattr(stage.measured, f"{percentile}_ms") / 1000)
        yield from (turns, cut_offs, measured, limits, parts)
