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


DOWN, UP = "0+0x60", "1+0x60"
MISSED, TURNS = 'voiceagent_budget_misses_total{stage="stt_wait"}', "voiceagent_turns_total"
REFUSED, RUNS = "voiceagent_calls_refused_total", "voiceagent_tool_runs_total"
GUARDED = "voiceagent_guard_checks_total"
SLOW = 'voiceagent_stage_seconds_bucket{stage="voice_to_voice", le="%s"}'
SLOW_STOP = SLOW.replace("voice_to_voice", "barge_in_stop")
Series = dict[str, str]
CASES: dict[str, tuple[Series, Series]] = {
    "AgentDown": ({'up{job="voiceagent"}': DOWN}, {'up{job="voiceagent"}': UP, 'up{job="vllm"}': DOWN}),
    "CallsFail": (
        {'voiceagent_calls_ended_total{reason="failed"}': "0+0x25 1+0x30"},
        {'voiceagent_calls_ended_total{reason="failed"}': "7+0x60", 'voiceagent_calls_ended_total{reason="hangup"}': "0+9x60"},
    ),
    "EngineDown": ({'voiceagent_engine_up{engine="tts"}': DOWN}, {'voiceagent_engine_up{engine="tts"}': UP}),
    "RepliesFail": (
        {'voiceagent_failed_replies_total{code="llm_failed"}': "0+1x60"},
        {'voiceagent_failed_replies_total{code="llm_failed"}': "0+0.2x60"},
    ),
    "CallersRefused": (
        {REFUSED + '{reason="server_full"}': "0+1x60"},
        {REFUSED + '{reason="draining"}': "0+9x60", REFUSED + '{reason="memory_full"}': "5+0x60"},
    ),
    "NearlyFull": (
        {"voiceagent_calls_active": "15+0x60", "voiceagent_call_places": "16+0x60"},
        {"voiceagent_calls_active": "14+0x60", "voiceagent_call_places": "16+0x60"},
    ),
    "SlowAnswers": (
        {SLOW % "1.0": "0+0x60", SLOW % "1.5": "0+3x60", SLOW % "+Inf": "0+3x60"},
        {SLOW % "1.0": "0+3x60", SLOW % "1.5": "0+3x60", SLOW % "+Inf": "0+3x60"},
    ),
    "SlowBargeIn": (
        {SLOW_STOP % "0.3": "0+0x60", SLOW_STOP % "0.5": "0+3x60", SLOW_STOP % "+Inf": "0+3x60"},
        {SLOW_STOP % "0.3": "0+0x60", SLOW_STOP % "0.5": "0+0x60", SLOW_STOP % "+Inf": "0+0x60"},
    ),
    "BudgetBurns": ({MISSED: "0+1x60", TURNS: "0+5x60"}, {MISSED: "0+1x60", TURNS: "0+9x60"}),
    "Degraded": ({'voiceagent_budget_level{stage="answer"}': "2+0x60"}, {'voiceagent_budget_level{stage="answer"}': "1+0x60"}),
    "GuardsFail": (
        {GUARDED + '{outcome="output: http: late"}': "0+1x60"},
        {GUARDED + '{outcome="output: http: answered"}': "0+9x60", GUARDED + '{outcome="output: http: late"}': "9+0x60"},
    ),
    "EventLoopBlocked": (
        {'voiceagent_loop_blocked_total{where="x"}': "0+7x60"},
        {'voiceagent_loop_blocked_total{where="x"}': "0+5x60"},
    ),
    "QueuesOverflow": (
        {'voiceagent_queue_drops_total{queue="heard frames"}': "0+0x25 1+0x30"},
        {'voiceagent_queue_drops_total{queue="heard frames"}': "1+0x60"},
    ),
    "ToolsFail": (
        {RUNS + '{outcome="too_slow"}': "0+3x60", RUNS + '{outcome="ok"}': "0+9x60"},
        {RUNS + '{outcome="too_slow"}': "0+2x60", RUNS + '{outcome="cancelled"}': "0+9x60", RUNS + '{outcome="ok"}': "0+0x60"},
    ),
    "KvCacheFull": ({"vllm:kv_cache_usage_perc": "0.95+0x60"}, {"vllm:kv_cache_usage_perc": "0.9+0x60"}),
    "RequestsWait": ({"vllm:num_requests_waiting": "5+0x60"}, {"vllm:num_requests_waiting": "4+0x60"}),
}
"""Of each alert what makes it fire within half an hour, and what does not: series of a value a minute."""


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


def test_each_alert_fires_when_it_should_and_not_otherwise(tmp_path: Path) -> None:
    promtool = program("promtool", "prometheus")
    assert set(CASES) == {rule["alert"] for group in ALERTS["groups"] for rule in group["rules"]}
    tests = []
    for alert, both in CASES.items():
        for series, fires in zip(both, (1, 0), strict=True):
            query = {
                "expr": f'count(ALERTS{{alertname="{alert}", alertstate="firing"}}) or vector(0)',
                "eval_time": "30m",
                "exp_samples": [{"labels": "{}", "value": fires}],
            }
            shown = [{"series": name, "values": values} for name, values in series.items()]
            tests.append({"name": alert, "interval": "1m", "input_series": shown, "promql_expr_test": [query]})
    (tmp_path / "alerts_test.yml").write_text(
        yaml.safe_dump({"rule_files": [str(DEPLOY / "prometheus" / "alerts.yml")], "evaluation_interval": "30s", "tests": tests})
    )
    tested = subprocess.run(
        [promtool, "test", "rules", tmp_path / "alerts_test.yml"], capture_output=True, text=True, check=False
    )
    assert tested.returncode == 0, tested.stdout + tested.stderr


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
