"""The metrics and the monitors of several workers as one."""

from __future__ import annotations

from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from voiceagent.gateway.metrics_merge import merged
from voiceagent.gateway.monitor_merge import merged as merged_monitors
from voiceagent.server.monitoring.metrics import Metrics


def test_each_series_bears_its_worker_and_prometheus_reads_all() -> None:
    one, two = Metrics(), Metrics()
    one.call_started()
    one.call_ended("hangup")
    two.call_started()
    two.guarded.add('output: "cards" {1}, x')
    text = merged({"1": one.render(), "2": two.render()})
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert len(families) == len(list(text_string_to_metric_families(one.render())))
    active = {sample.labels["worker"]: sample.value for sample in families["voiceagent_calls_active"].samples}
    assert active == {"1": 0.0, "2": 1.0}
    (guarded,) = [sample for sample in families["voiceagent_guard_hits"].samples if sample.labels["worker"] == "2"]
    assert guarded.labels == {"worker": "2", "rule": 'output: "cards" {1}, x'}
    assert text.count("# TYPE voiceagent_calls_active ") == 1
    before, after = one.render().count("\n"), text.count("\n")
    assert after < 2 * before, "help and type stand once"


def monitor(started: float, p95_ms: float, **changed: Any) -> dict[str, Any]:
    stage = {"stage": "stt", "count": 3, "p50_ms": 5.0, "p95_ms": p95_ms, "limit_p50_ms": 50, "limit_p95_ms": 90, "over": []}
    return {
        "at": started,
        "agent": "Demo",
        "reason": "",
        "places": 8,
        "waiting": 1,
        "pressure": p95_ms / 100,
        "alerts": [{"name": "Pressure", "severity": "page", "text": "Busy."}] if p95_ms > 90 else [],
        "budget": [{"window_s": None, "turns": 10, "over": 1}],
        "stages": {"webrtc": [{**stage, "over": ["p95"] if p95_ms > 90 else []}]},
        "running": 1,
        "calls": [{"id": f"rtc_{started:.0f}", "started": started}],
        "ended": None,
        "store_fails": False,
        "may_read": True,
        **changed,
    }


def test_the_monitor_shows_the_calls_of_all_workers() -> None:
    found = merged_monitors({1: monitor(100.0, 40.0), 2: monitor(200.0, 95.0, reason="loading", ended=[{"id": "rtc_0"}])})
    assert [call["id"] for call in found["calls"]] == ["rtc_200", "rtc_100"], "the newest first"
    assert (found["running"], found["places"], found["waiting"], found["workers"]) == (2, 16, 2, 2)
    assert found["reason"] == "", "one that answers is enough"
    assert found["budget"] == [{"window_s": None, "turns": 20, "over": 2}]
    (stage,) = found["stages"]["webrtc"]
    assert (stage["count"], stage["p95_ms"], stage["over"]) == (6, 95.0, ["p95"])
    assert found["alerts"] == [{"name": "Pressure", "severity": "page", "text": "Worker 2: Busy."}]
    assert found["ended"] == [{"id": "rtc_0"}]


def test_a_server_whose_workers_all_wait_says_why() -> None:
    found = merged_monitors({1: monitor(1.0, 1.0, reason="The engines are being loaded."), 2: monitor(2.0, 1.0, reason="x")})
    assert found["reason"] == "The engines are being loaded."
