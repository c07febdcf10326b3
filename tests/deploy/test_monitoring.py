"""The dashboard and the alerts ask for what the agent really exports."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.programs import program
from voiceagent.latency.budgets import load_budgets
from voiceagent.latency.spans import Span, Stage, TurnReport
from voiceagent.resources import default_budgets_file
from voiceagent.server.monitoring.metrics import BUCKETS_S, CountsBy, Metrics

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "grafana" / "dashboards" / "voiceagent.json").read_text())
ALERTS: dict[str, Any] = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text())
ASKED = [
    *(target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]),
    *(rule["expr"] for group in ALERTS["groups"] for rule in group["rules"]),
]


def exported() -> str:
    """The metrics of an agent to which everything has happened once."""
    metrics = Metrics()
    for metric in vars(metrics).values():
        if isinstance(metric, CountsBy):
            metric.add("x")
    metrics.turn(TurnReport("c", 1, 0.0, "gpu", (Span(Stage.VAD, 0, 5),), 100.0, 50.0), [Stage.VAD])
    metrics.speculative_tool_ended(used=True, saved_ms=1)
    metrics.loop_lag(1.0)
    return metrics.render()


def test_every_metric_asked_for_is_exported_with_those_labels() -> None:
    lines = [line for line in exported().splitlines() if not line.startswith("#")]
    there = {re.split(r"[{ ]", line)[0]: set(re.findall(r'(\w+)="', line)) for line in lines}
    assert len(ASKED) > 30
    for expression in ASKED:
        names = set(re.findall(r"\bvoiceagent_\w+", expression))
        assert names <= set(there), expression
        asked = re.findall(r"by \(([^)]+)\)|(\w+)=~?\"", expression)
        labels = {label.strip() for grouped, selected in asked for label in (grouped or selected).split(",")}
        assert not names or labels <= set().union(*(there[name] for name in names)), expression


def test_every_stage_asked_for_is_one() -> None:
    stages = {stage for expression in ASKED for stage in re.findall(r'stage="(\w+)"', expression)}
    assert stages == {"voice_to_voice", "barge_in_stop"}
    assert stages <= {stage.value for stage in Stage}
    assert all(f'stage="{stage}"' in exported() for stage in stages)


def test_limits_on_latency_are_those_of_the_gpu_profile_or_the_next_bucket() -> None:
    limits = load_budgets(default_budgets_file()).of("gpu")
    found = {stage: float(limit) for text in ASKED for stage, limit in re.findall(r'stage="(\w+)".* > ([\d.]+)$', text)}
    assert set(found) == {"voice_to_voice", "barge_in_stop"}
    for stage, limit_s in found.items():
        p95_s = limits[Stage(stage)].p95_ms / 1000
        assert limit_s in (p95_s, min(bound for bound in BUCKETS_S if bound >= p95_s))


def test_prometheus_takes_its_configuration_and_rules() -> None:
    promtool = program("promtool", "prometheus")
    for check in (("check", "rules", "alerts.yml"), ("check", "config", "--syntax-only", "prometheus.yml")):
        tested = subprocess.run([promtool, *check], cwd=DEPLOY / "prometheus", capture_output=True, text=True, check=False)
        assert tested.returncode == 0, tested.stderr


def test_prometheus_understands_every_question_of_the_dashboard(tmp_path: Path) -> None:
    promtool = program("promtool", "prometheus")
    rules = [{"record": f"q{i}", "expr": expression.replace("$__rate_interval", "1m")} for i, expression in enumerate(ASKED)]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    tested = subprocess.run([promtool, "check", "rules", tmp_path / "rules.yml"], capture_output=True, text=True, check=False)
    assert tested.returncode == 0, tested.stderr
    assert f"{len(ASKED)} rules found" in tested.stdout


def test_the_dashboard_names_the_source_that_is_provisioned() -> None:
    sources = yaml.safe_load((DEPLOY / "grafana" / "provisioning" / "datasources" / "prometheus.yml").read_text())["datasources"]
    assert {panel["datasource"]["uid"] for panel in DASHBOARD["panels"]} == {source["uid"] for source in sources}
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
