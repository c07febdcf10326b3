"""A call's traces and metrics, at a collector that reads OpenTelemetry's own protobufs."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from tests.server_process import running_server
from voiceagent.conversation.actions import Failure, ToolEnded
from voiceagent.conversation.events import TimerFired
from voiceagent.errors import ConfigError
from voiceagent.latency.spans import Span, Stage, TurnFacts, TurnReport
from voiceagent.server.monitoring.telemetry import MAX_TURNS, Telemetry
from voiceagent.settings.agent import load_agent

DEMO = Path(__file__).resolve().parents[2] / "examples" / "demo"


@dataclass
class Collector:
    """What has come so far."""

    url: str
    spans: list[Any] = field(default_factory=list)
    metrics: list[Any] = field(default_factory=list)
    resources: list[dict[str, str]] = field(default_factory=list)
    raw: bytes = b""

    def take(self, path: str, body: bytes) -> None:
        self.raw += body
        if path == "/v1/traces":
            for found in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.resources.append({one.key: one.value.string_value for one in found.resource.attributes})
                self.spans += [span for scope in found.scope_spans for span in scope.spans]
        else:
            found_metrics = ExportMetricsServiceRequest.FromString(body).resource_metrics
            self.metrics += [metric for one in found_metrics for scope in one.scope_metrics for metric in scope.metrics]


@pytest.fixture
def collector() -> Iterator[Collector]:
    came = Collector("")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            came.take(self.path, gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    came.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield came
    server.shutdown()
    thread.join()
    server.server_close()


def attributes(span: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


async def call(url: str) -> None:
    from voiceagent.scenarios.text_caller import TextCaller

    async with TextCaller(url, "", 30.0) as caller:
        await caller.say("What time is it in Paris?")


async def test_a_turn_is_a_trace_and_its_stages_are_spans(collector: Collector, tmp_path: Path) -> None:
    demo = (DEMO / "agent.yaml").read_text().replace("tools.py", str(DEMO / "tools.py"))
    demo = demo.replace("endpointing.json", str(DEMO / "endpointing.json"))
    (tmp_path / "agent.yaml").write_text(f"{demo}\ntelemetry: {{otlp: '{collector.url}'}}\n")
    options = ("--config", str(tmp_path / "agent.yaml"), "--profile", "embedded", "--log-format", "json")
    with running_server(tmp_path, *options) as server:
        await call(server.url)
    (turn,) = [span for span in collector.spans if span.name.startswith("invoke_agent ")]
    told = attributes(turn)
    assert told["gen_ai.operation.name"] == "invoke_agent"
    assert told["gen_ai.conversation.id"].startswith("rtc_")
    assert told["gen_ai.usage.input_tokens"] > 0
    assert told["voiceagent.status"] == "completed"
    logged = [json.loads(line) for line in server.said() if '"turn"' in line]
    ids = {"call": told["gen_ai.conversation.id"], "turn": 1, "trace_id": turn.trace_id.hex()}
    assert [ids] == [{name: line[name] for name in ids} for line in logged]
    inside = [span for span in collector.spans if span.parent_span_id == turn.span_id]
    assert {span.trace_id for span in inside} == {turn.trace_id}
    names = [span.name for span in inside]
    assert "execute_tool get_time" in names
    chats = [attributes(span) for span in inside if span.name.startswith("chat ")]
    assert all(0 < found["gen_ai.response.time_to_first_chunk"] < 30 for found in chats)
    assert chats
    tools = [attributes(span) for span in inside if span.name == "execute_tool get_time"]
    assert all(found["gen_ai.tool.call.id"] for found in tools)
    assert all(turn.start_time_unix_nano <= span.start_time_unix_nano for span in inside)
    assert all(span.end_time_unix_nano <= turn.end_time_unix_nano for span in inside)
    assert collector.resources[0]["service.name"] == "voiceagent"
    found = {metric.name for metric in collector.metrics}
    assert {"gen_ai.client.token.usage", "gen_ai.client.operation.time_to_first_chunk", "voiceagent.stage.duration"} <= found
    bounds = {metric.name: list(metric.histogram.data_points[0].explicit_bounds) for metric in collector.metrics}
    assert bounds["voiceagent.stage.duration"][:3] == [0.01, 0.02, 0.04]
    assert b"Paris" not in collector.raw


def test_what_failed_is_an_error_with_its_kind(collector: Collector) -> None:
    telemetry = Telemetry(collector.url, "Demo")
    traces = telemetry.of_call("rtc_1", "m")
    for turn, status in ((1, "failed"), (2, "completed")):
        failed = (ToolEnded(1, "c1", "look_up", "{}", ok=False), Failure("llm_failed", "on purpose"))
        traces.stepped(TimerFired(1000.0, "reply"), failed if turn == 1 else ())
        span = Span(Stage.TOOL, 0.0, 500.0)
        traces.measured(TurnReport("rtc_1", turn, 1.0, "embedded", (span,), None, None, facts=TurnFacts(status=status)), ())
    telemetry.close()
    errors = {(span.name, attributes(span).get("error.type", ""), span.status.code) for span in collector.spans}
    assert errors == {
        ("invoke_agent Demo", "llm_failed", Status.STATUS_CODE_ERROR),
        ("execute_tool look_up", "_OTHER", Status.STATUS_CODE_ERROR),
        ("invoke_agent Demo", "", Status.STATUS_CODE_UNSET),
        ("execute_tool", "", Status.STATUS_CODE_UNSET),
    }


def test_of_too_many_turns_the_newest_are_sent(collector: Collector) -> None:
    telemetry = Telemetry(collector.url, "Demo")
    traces = telemetry.of_call("rtc_1", "m")
    for turn in range(1, MAX_TURNS + 3):
        traces.measured(TurnReport("rtc_1", turn, 1.0, "embedded", (Span(Stage.TOOL, 0.0, 500.0),), None, None), ())
    telemetry.close()
    sent = [attributes(span)["voiceagent.turn"] for span in collector.spans if span.name == "invoke_agent Demo"]
    assert sent == list(range(3, MAX_TURNS + 3))


def test_a_turn_of_which_no_spans_can_be_made_keeps_no_other_from_the_collector(
    collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    telemetry = Telemetry(collector.url, "Demo")
    traces = telemetry.of_call("rtc_1", "m")
    for turn, took_ms in ((1, float("nan")), (2, 500.0)):
        traces.measured(TurnReport("rtc_1", turn, 1.0, "embedded", (Span(Stage.TOOL, 0.0, took_ms),), None, None), ())
    telemetry.close()
    assert [attributes(span)["voiceagent.turn"] for span in collector.spans if span.name == "invoke_agent Demo"] == [2]
    assert "the spans of a turn could not be made" in caplog.text


async def test_a_collector_that_is_gone_keeps_no_call_waiting(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text("name: Plain\ntelemetry: {otlp: 'http://127.0.0.1:9'}\n")
    with running_server(tmp_path, "--config", str(tmp_path / "agent.yaml"), "--profile", "embedded") as server:
        await call(server.url)


def test_an_address_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text("telemetry: {otlp: collector:4318}\n")
    with pytest.raises(ConfigError, match=r"agent.yaml:1: telemetry.*expected the address of a collector"):
        load_agent(tmp_path / "agent.yaml")
