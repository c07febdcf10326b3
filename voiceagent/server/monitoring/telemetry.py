"""Traces and metrics by OpenTelemetry, over OTLP by HTTP, in the names of its conventions for generative AI. A turn is a trace,
its stages are spans, with the times that the turn was measured by. No word that was said is in them. It needs `voiceagent[otel]`.
Nothing is sent unless `telemetry.otlp` names where to."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from voiceagent import __version__
from voiceagent.call.observer import CallObserver
from voiceagent.conversation.actions import Action, Failure, ToolEnded
from voiceagent.conversation.events import Event
from voiceagent.errors import ConfigError
from voiceagent.latency.budgets import Miss
from voiceagent.latency.spans import Span, Stage, TurnReport
from voiceagent.logs import trace_id

if TYPE_CHECKING:
    from opentelemetry import trace

CLOSE_S = 1.5
"""The time for the rest when the server stops; a collector that does not take it by then loses it."""
SEND_EVERY_S, TIMEOUT_S = 5.0, 5
MAX_TURNS, MAX_SPANS = 256, 8192
"""Turns, and their spans, that wait for the collector; more are dropped. No call waits for any of it: a thread makes the spans of
many turns one after the other, which costs less processor time than one turn at a time between the work of calls."""
MAX_TOOLS = 32
NS = 1_000_000
"""Nanoseconds of a millisecond."""
PROVIDER = {"gen_ai.provider.name": "voiceagent"}
AGENT, CHAT = {"gen_ai.operation.name": "invoke_agent", **PROVIDER}, {"gen_ai.operation.name": "chat", **PROVIDER}
TOOL = {"gen_ai.operation.name": "execute_tool"}
TOKENS = [4**power for power in range(14)]
SECONDS = [0.01 * 2**power for power in range(14)]
"""Buckets of the conventions."""

log = logging.getLogger(__name__)

Attributes = Mapping[str, str | int | float | bool]


class Telemetry:
    """The traces and metrics that a server sends to its collector. `close` sends the rest."""

    def __init__(self, otlp: str, service: str) -> None:
        """`otlp` is the collector's address, such as http://127.0.0.1:4318; `service` names this one. Raises ConfigError where
        OpenTelemetry is not installed."""
        try:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.metrics import MeterProvider
            from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
            from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
        except ImportError as error:
            raise ConfigError(
                "telemetry.otlp needs OpenTelemetry, which is not installed: pip install 'voiceagent[otel]'"
            ) from error
        logging.getLogger("opentelemetry").setLevel(logging.ERROR)
        resource = Resource({"service.name": "voiceagent", "service.version": __version__, "voiceagent.agent": service})

        class TurnIds(RandomIdGenerator):
            """Gives a trace the id of its turn, set just before."""

            trace = 0

            def generate_trace_id(self) -> int:
                return self.trace

        self.ids = TurnIds()
        self.agent = service
        self._traces = TracerProvider(resource=resource, id_generator=self.ids)
        exporter = OTLPSpanExporter(endpoint=f"{otlp}/v1/traces", timeout=TIMEOUT_S)
        self._traces.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=MAX_SPANS))
        reader = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=f"{otlp}/v1/metrics", timeout=TIMEOUT_S))
        self._metrics = MeterProvider([reader], resource=resource)
        self.tracer: trace.Tracer = self._traces.get_tracer("voiceagent", __version__)
        meter = self._metrics.get_meter("voiceagent", __version__)
        self.tokens = meter.create_histogram(
            "gen_ai.client.token.usage", "{token}", "Tokens that a turn took.", explicit_bucket_boundaries_advisory=TOKENS
        )
        self.first_chunk, self.stages = (
            meter.create_histogram(name, "s", about, explicit_bucket_boundaries_advisory=SECONDS)
            for name, about in (
                ("gen_ai.client.operation.time_to_first_chunk", "Time to the language model's first token."),
                ("voiceagent.stage.duration", "Time of a stage of a turn."),
            )
        )
        self._waiting: deque[_Turn] = deque(maxlen=MAX_TURNS)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="OtelTurns", daemon=True)
        self._thread.start()

    def of_call(self, call_id: str, model: str) -> CallTraces:
        """The observer of a call."""
        return CallTraces(self._waiting.append, call_id, model)

    def close(self) -> None:
        """Send what waits, for at most `CLOSE_S`. Blocks."""
        self._closing.set()
        self._thread.join(CLOSE_S)

    def _run(self) -> None:
        while not self._closing.wait(SEND_EVERY_S):
            self._make_spans()
            self._traces.force_flush()
        self._make_spans()
        metrics = threading.Thread(target=self._metrics.shutdown, daemon=True)
        metrics.start()
        self._traces.shutdown()
        metrics.join()

    def _make_spans(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            try:
                turn.trace(self)
            except Exception:  # the thread goes on with the next turn
                log.exception("the spans of a turn could not be made, and are not sent")


class CallTraces(CallObserver):
    """Hands the turns of one call over."""

    def __init__(self, hand_over: Callable[[_Turn], None], call_id: str, model: str) -> None:
        self._hand_over, self._call_id, self._model = hand_over, call_id, model
        self._zero_ms = time.time() * 1000.0
        """The call's zero, in Unix milliseconds."""
        self._tools: list[ToolEnded] = []
        """Tools that have ended since the last turn, in order."""
        self._failure = ""
        """The last failure since then."""

    def stepped(self, event: Event, actions: tuple[Action, ...]) -> None:
        """Note the clock, which tools ran, and what failed."""
        if not actions:
            return
        self._zero_ms = time.time() * 1000.0 - event.at_ms
        for action in actions:
            if isinstance(action, ToolEnded) and len(self._tools) < MAX_TOOLS:
                self._tools.append(action)
            elif isinstance(action, Failure):
                self._failure = action.code

    def measured(self, report: TurnReport, misses: tuple[Miss, ...]) -> None:
        """Hand the turn over."""
        self._hand_over(_Turn(report, misses, self._zero_ms, self._call_id, self._model, tuple(self._tools), self._failure))
        self._tools.clear()
        self._failure = ""


@dataclass(frozen=True, slots=True)
class _Turn:
    """A turn that is to be sent."""

    report: TurnReport
    misses: tuple[Miss, ...]
    zero_ms: float
    call_id: str
    model: str
    tools: tuple[ToolEnded, ...]
    failure: str

    def trace(self, telemetry: Telemetry) -> None:
        """Make its trace, and count it."""
        from opentelemetry import trace

        report = self.report
        spans = [*report.spans, *_waited(report)]
        first_ms = min((span.start_ms for span in spans), default=0.0)
        last_ms = max((span.start_ms + span.duration_ms for span in spans), default=first_ms)
        tracer = telemetry.tracer
        telemetry.ids.trace = int(trace_id(report.call_id, report.turn), 16)
        name = f"invoke_agent {telemetry.agent}".rstrip()
        turn = tracer.start_span(name, start_time=self._unix_ns(first_ms), attributes=self._of_turn(telemetry.agent))
        if report.facts.status == "failed":
            turn.set_status(trace.StatusCode.ERROR)
            turn.set_attribute("error.type", self.failure or "_OTHER")
        for miss in self.misses:
            turn.add_event(
                "budget.missed",
                {"voiceagent.stage": miss.stage.value, "voiceagent.ms": miss.measured_ms, "voiceagent.limit_ms": miss.limit_ms},
                self._unix_ns(last_ms),
            )
        inside = trace.set_span_in_context(turn)
        tools = iter(self.tools)
        for span in report.spans:
            tool = next(tools, None) if span.stage is Stage.TOOL else None
            name, attributes = self._named(span, tool)
            made = tracer.start_span(name, inside, start_time=self._unix_ns(span.start_ms), attributes=attributes)
            if tool is not None and not tool.ok:
                made.set_status(trace.StatusCode.ERROR)
                made.set_attribute("error.type", "_OTHER")
            made.end(self._unix_ns(span.start_ms + span.duration_ms))
        turn.end(self._unix_ns(last_ms))
        self._count(telemetry)

    def _of_turn(self, agent: str) -> Attributes:
        report, facts, wait = self.report, self.report.facts, self.report.wait
        found: dict[str, str | int | float | bool] = {
            **AGENT,
            "gen_ai.agent.name": agent,
            "gen_ai.conversation.id": report.call_id,
            "gen_ai.request.model": self.model,
            "gen_ai.usage.input_tokens": facts.prompt_tokens,
            "gen_ai.usage.output_tokens": facts.tokens,
            "voiceagent.turn": report.turn,
            "voiceagent.profile": report.profile,
            "voiceagent.leg": report.leg.value,
            "voiceagent.status": facts.status,
            "voiceagent.cut_off": facts.cut_off,
        }
        if report.voice_to_voice_ms is not None:
            found["voiceagent.voice_to_voice_ms"] = report.voice_to_voice_ms
        if report.barge_in_stop_ms is not None:
            found["voiceagent.barge_in_stop_ms"] = report.barge_in_stop_ms
        if wait is not None:
            found |= {f"voiceagent.wait.{part.value}_ms": ms for part, ms in wait.totals_ms().items()}
        return found

    def _named(self, span: Span, tool: ToolEnded | None) -> tuple[str, Attributes]:
        if span.stage is Stage.TOOL:
            known = {} if tool is None else {"gen_ai.tool.name": tool.name, "gen_ai.tool.call.id": tool.call_id}
            return " ".join(("execute_tool", *list(known.values())[:1])), {**TOOL, **known}
        stage: dict[str, str | int | float | bool] = {"voiceagent.stage": span.stage.value}
        if span.stage is not Stage.LLM_TTFT:
            return span.stage.value, stage
        first_s = span.duration_ms / 1000
        stage |= {**CHAT, "gen_ai.conversation.id": self.call_id, "gen_ai.request.model": self.model}
        return f"chat {self.model}", stage | {"gen_ai.request.stream": True, "gen_ai.response.time_to_first_chunk": first_s}

    def _count(self, telemetry: Telemetry) -> None:
        report, model = self.report, {**CHAT, "gen_ai.request.model": self.model}
        for kind, tokens in (("input", report.facts.prompt_tokens), ("output", report.facts.tokens)):
            telemetry.tokens.record(tokens, {**model, "gen_ai.token.type": kind})
        for stage, durations in report.durations_ms().items():
            for ms in durations:
                telemetry.stages.record(ms / 1000, {"voiceagent.stage": stage.value, "voiceagent.leg": report.leg.value})
                if stage is Stage.LLM_TTFT:
                    telemetry.first_chunk.record(ms / 1000, model)

    def _unix_ns(self, at_ms: float) -> int:
        return int((self.zero_ms + at_ms) * NS)


def _waited(report: TurnReport) -> tuple[Span, ...]:
    """The whole wait, which begins before the first stage does and ends with the first sound."""
    return () if report.wait is None else (Span(Stage.VOICE_TO_VOICE, report.wait.began_ms, report.wait.duration_ms),)
