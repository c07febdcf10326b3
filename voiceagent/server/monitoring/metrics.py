"""Counters of a running server, and what Prometheus reads of them (exposition format 0.0.4, by `prometheus_client`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from prometheus_client import Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from voiceagent.conversation.rules import Degradation
from voiceagent.latency.burn import OnMiss
from voiceagent.latency.spans import LegKind, Stage, TurnReport
from voiceagent.llm.engine import LlmEngine
from voiceagent.server.access.client_secrets import ClientSecrets
from voiceagent.server.calls.budget_actions import BudgetActions
from voiceagent.server.monitoring.engine_health import NAMES, EngineHealth
from voiceagent.server.monitoring.processor_time import cores, processor_seconds
from voiceagent.server.monitoring.recent_turns import RecentTurns
from voiceagent.store.writer import Losses
from voiceagent.stt.engine import SttEngine
from voiceagent.turn_judges.judge import TurnJudge

BUCKETS_S = (0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0)
LAG_BUCKETS_MS = (1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 100.0, 500.0)
MAX_LABEL_VALUES = 64
SPECULATIONS = ("kept", "resumed", "changed", "failed", "ended")
KNOWN: Mapping[str, Iterable[str]] = {
    "voiceagent_leg_calls_total": LegKind,
    "voiceagent_leg_turns_total": LegKind,
    "voiceagent_leg_turns_missed_total": LegKind,
    "voiceagent_calls_refused_total": ("server_full", "memory_full", "busy", "draining", "not_ready", "no_media_port"),
    "voiceagent_calls_ended_total": (
        *("hangup", "closed", "lost", "not_connected", "not_resumed", "gave_way", "too_slow", "silence", "agent_ended", "abuse"),
        *("call_limit", "quota_used", "key_revoked", "transferred", "not_transferred", "caller_hung_up", "server_stopping"),
        *("handed_over", "taken_over", "answered", "failed"),
    ),
    "voiceagent_budget_misses_total": Stage,
    "voiceagent_degraded_turns_total": Degradation,
    "voiceagent_queue_drops_total": (
        *("heard frames", "client events", "server events", "datagrams", "client events over the allowance", "partial decodes"),
        *("judgements", "monitors", "call results"),
    ),
    "voiceagent_store_losses_total": (
        "measured turns",
        "call records",
        "call events",
        "event log steps",
        "retention runs",
        "states of calls",
        "streamed events",
    ),
    "voiceagent_media_total": ("packets_received", "packets_lost"),
    "voiceagent_speculative_replies_total": SPECULATIONS,
    "voiceagent_speculative_tokens_total": SPECULATIONS,
    "voiceagent_speculative_tool_calls_total": ("used", "wasted"),
    "voiceagent_tool_runs_total": ("ok", "failed", "wrong_arguments", "too_slow", "too_many", "cancelled"),
    "voiceagent_values_total": ("collecting", "heard", "confirmed", "given_up"),
    "voiceagent_context_queries_total": ("found", "nothing", "late", "failed", "busy"),
    "voiceagent_judgements_total": ("told", "unknown", "failed", "too_late"),
    "voiceagent_failed_replies_total": ("llm_failed", "reply_timeout", "empty_reply", "tts_failed"),
    "voiceagent_not_understood_total": ("phrase", "apology", "offer", "check_in", "nothing"),
}
"""Label values that are there with 0 from the start: Prometheus sees no increase in a series whose first value is 1."""

disable_created_metrics()  # type: ignore[no-untyped-call]  # no time of creation beside each histogram


class CountsBy(Counter[str]):
    """A metric with one label: counts by the label's value. Values beyond `MAX_LABEL_VALUES` are counted as `other`."""

    def __init__(self, label: str, name: str, about: str) -> None:
        super().__init__()
        self._about = (name, about, label)
        self._expected = dict.fromkeys(KNOWN.get(name, ()), 0)

    def expect(self, values: Iterable[str]) -> None:
        """Show 0 for these values, too, until there is more."""
        self._expected |= dict.fromkeys(values, 0)

    def add(self, value: str, count: int = 1) -> None:
        """Count one more of `value`, or more of them."""
        known = value in self or value in self._expected or len(self) < MAX_LABEL_VALUES
        self[value if known else "other"] += count

    def family(self, more: Mapping[str, int]) -> CounterMetricFamily:
        """The counts, and `more` of them, as `prometheus_client` writes them."""
        return _by(*self._about, {**self._expected, **self, **more})


class Metrics(Collector):
    """Counters since the server started. Only the event loop's thread writes. Nothing is put into `prometheus_client`'s registry,
    which is the process's own."""

    def __init__(self) -> None:
        self.calls_active = 0
        self.calls_total = 0
        self.calls_by_leg = CountsBy("leg", "voiceagent_leg_calls_total", "Calls that were answered, by what they came by.")
        self.turns_by_leg = CountsBy("leg", "voiceagent_leg_turns_total", "Turns that were measured, by leg.")
        self.misses_by_leg = CountsBy("leg", "voiceagent_leg_turns_missed_total", "Turns with a stage over budget, by leg.")
        self.calls_waiting = 0
        self.call_places = 0
        """The most calls that are carried."""
        self.tasks = 0
        self.monitors = 0
        """Tasks of the event loop."""
        self.wrong_keys = 0
        self.origins_refused = 0
        self.client_secrets = ClientSecrets()
        """Those of the server."""
        self.vendors_refused = CountsBy("reason", "voiceagent_vendors_refused_total", "Webhooks and streams of vendors refused.")
        self.pressure = 0.0
        """See `Pressure.level`."""
        self.calls_refused = CountsBy("reason", "voiceagent_calls_refused_total", "Offers that were refused.")
        self.calls_ended = CountsBy("reason", "voiceagent_calls_ended_total", "Calls that are over.")
        self.calls_resumed = CountsBy("leg", "voiceagent_calls_resumed_total", "Calls that went on over a new connection.")
        self.connections = 0
        self.connections_let_go = CountsBy("reason", "voiceagent_connections_let_go_total", "Those that were closed, by why.")
        self.log_lines_left_out = 0
        self.turns_total = 0
        self.recent = RecentTurns()
        self.budget_misses = CountsBy("stage", "voiceagent_budget_misses_total", "Stages of turns that were over budget.")
        self.queue_drops = CountsBy("queue", "voiceagent_queue_drops_total", "Items that a full queue let go of.")
        self.slow_readers = CountsBy(
            "transport", "voiceagent_slow_readers_total", "Connections that were closed because events were not read in time."
        )
        self.losses = Losses()
        """Counts of the data that the disk did not take."""
        self.media = CountsBy("event", "voiceagent_media_total", "What became of packets and frames, as calls ended.")
        self.speculative_replies = CountsBy(
            "outcome", "voiceagent_speculative_replies_total", "Speculative replies, by what became of them."
        )
        self.speculative_tokens = CountsBy(
            "outcome", "voiceagent_speculative_tokens_total", "Tokens of speculative replies until then."
        )
        self.tools = CountsBy("outcome", "voiceagent_tool_runs_total", "Runs of tools, by what became of them.")
        """ok, failed, wrong_arguments, too_slow, too_many or cancelled."""
        self.handoffs = CountsBy("agent", "voiceagent_handoffs_total", "Calls that were handed off to an agent.")
        self.steps = CountsBy("step", "voiceagent_steps_total", "Steps of the agent that calls have entered.")
        self.values = CountsBy("stage", "voiceagent_values_total", "Values that the agent collects, by the stage they reached.")
        self.speculative_calls = CountsBy(
            "outcome", "voiceagent_speculative_tool_calls_total", "Tools that ran before their turn was committed."
        )
        self.speculative_tools_saved_s = 0.0
        self.context = CountsBy("outcome", "voiceagent_context_queries_total", "Questions to sources of context.")
        """found, nothing, late, failed or busy."""
        self.judgements = CountsBy("outcome", "voiceagent_judgements_total", "Questions to turn judges.")
        """told, unknown, failed or too_late."""
        self.guarded = CountsBy("rule", "voiceagent_guard_hits_total", "What guards kept from being said or read.")
        self.guard_checks = CountsBy("outcome", "voiceagent_guard_checks_total", "Checks by guards' plugins.")
        """answered, late, failed or not_asked, by direction and plugin."""
        self.blocked = CountsBy("where", "voiceagent_loop_blocked_total", "What held the event loop for over 5 ms.")
        self.failed_replies = CountsBy("code", "voiceagent_failed_replies_total", "Replies that failed.")
        self.not_understood = CountsBy("answer", "voiceagent_not_understood_total", "Turns heard and not understood.")
        self.events_out_of_phase = CountsBy("event", "voiceagent_events_out_of_phase_total", "Events that came too late.")
        self.budget_actions = BudgetActions()
        self.degraded_turns = CountsBy(
            "degradation", "voiceagent_degraded_turns_total", "Turns that went without something, to keep the budgets."
        )
        self.health = EngineHealth()
        self.llm: LlmEngine | None = None
        self.stt: SttEngine | None = None
        self.judges: Sequence[TurnJudge] = ()
        """The turn judges, which are asked for their problems whenever the metrics are read."""
        self._lag_ms = Histogram(
            "voiceagent_loop_lag_ms", "How late the event loop ran a timer.", registry=None, buckets=LAG_BUCKETS_MS
        )
        self._stages = Histogram(
            "voiceagent_stage_seconds", "How long the stages of turns took.", ["stage"], registry=None, buckets=BUCKETS_S
        )
        for stage in Stage:
            self._stages.labels(stage.value)

    def call_started(self, leg: LegKind = LegKind.WEBRTC) -> None:
        """A call is up."""
        self.calls_by_leg[leg] += 1
        self.calls_active += 1
        self.calls_total += 1

    def call_ended(self, reason: str) -> None:
        """A call is over; `reason` is a slug."""
        self.calls_active -= 1
        self.calls_ended.add(reason)

    def log_left_out(self, lines: int) -> None:
        """Count log lines that were left out."""
        self.log_lines_left_out += lines

    def turn(self, report: TurnReport, missed: Iterable[Stage]) -> None:
        """A turn was measured; `missed` are the stages over budget."""
        self.turns_total += 1
        self.turns_by_leg[report.leg] += 1
        missed = tuple(missed)
        self.recent.add(report, missed)
        if missed:
            self.misses_by_leg[report.leg] += 1
        for degradation in report.facts.degraded:
            self.degraded_turns.add(degradation)
        for stage in missed:
            self.budget_misses.add(stage.value)
        for stage, durations_ms in report.durations_ms().items():
            histogram = self._stages.labels(stage.value)
            for duration_ms in durations_ms:
                histogram.observe(duration_ms / 1000)

    def speculation_ended(self, outcome: str, tokens: int) -> None:
        """A speculative reply ended: kept, or why not. `tokens` is what it had cost until then."""
        self.speculative_replies.add(outcome)
        self.speculative_tokens.add(outcome, tokens)

    def speculative_tool_ended(self, *, used: bool, saved_ms: float) -> None:
        """A speculative tool call ended: it was used and saved that much time, or it was wasted."""
        self.speculative_calls.add("used" if used else "wasted")
        self.speculative_tools_saved_s += saved_ms / 1000

    def queue_dropped(self, queue: str, count: int = 1) -> None:
        """A bounded queue was full and dropped something."""
        if count > 0:
            self.queue_drops.add(queue, count)

    def leg_ended(self, counters: Mapping[str, int], drops: Mapping[str, int]) -> None:
        """A call's connection is over: see `Leg.counters` and `Leg.drops`."""
        for event, count in counters.items():
            self.media.add(event, count)
        for queue, count in drops.items():
            self.queue_dropped(queue, count)

    def loop_lag(self, lag_ms: float) -> None:
        """Observe the delay of a timer that the event loop ran."""
        self._lag_ms.observe(lag_ms)

    def monitors_changed(self, monitors: int) -> None:
        """Note the number of monitors that follow calls."""
        self.monitors = monitors

    def render(self) -> str:
        """Everything, as Prometheus reads it."""
        return generate_latest(self).decode()

    def collect(self) -> Iterator[Metric]:
        """Everything, as `prometheus_client` writes it."""
        yield GaugeMetricFamily("voiceagent_calls_active", "Calls that are up.", self.calls_active)
        yield CounterMetricFamily("voiceagent_calls_total", "Calls that were answered.", self.calls_total)
        yield GaugeMetricFamily("voiceagent_calls_waiting", "Callers who wait for a place.", self.calls_waiting)
        yield GaugeMetricFamily("voiceagent_call_places", "Calls that are carried at most.", self.call_places)
        yield CounterMetricFamily("voiceagent_wrong_keys_total", "Requests with a wrong key or none.", self.wrong_keys)
        yield CounterMetricFamily(
            "voiceagent_origins_refused_total", "Requests of pages that may not call.", self.origins_refused
        )
        secrets = self.client_secrets
        yield GaugeMetricFamily("voiceagent_client_secrets", "Client secrets that have not expired.", len(secrets))
        yield CounterMetricFamily("voiceagent_client_secrets_issued_total", "Client secrets that were issued.", secrets.issued)
        yield _by("voiceagent_client_secrets_refused_total", "Refused client secrets, by why.", "reason", secrets.refused)
        yield GaugeMetricFamily("voiceagent_monitors", "Monitors that follow calls.", self.monitors)
        yield GaugeMetricFamily("voiceagent_tasks", "Tasks of the event loop.", self.tasks)
        yield GaugeMetricFamily("voiceagent_cores", "Cores that the server may use.", cores())
        spent = processor_seconds()
        yield _by("voiceagent_cpu_seconds_total", "Processor time of the server's threads.", "thread", spent)
        yield GaugeMetricFamily("voiceagent_pressure", "From 1 on, no more calls are taken.", self.pressure)
        yield GaugeMetricFamily("voiceagent_connections", "Connections of HTTP clients that are open.", self.connections)
        yield CounterMetricFamily("voiceagent_log_lines_left_out_total", "Lines of a kind too many.", self.log_lines_left_out)
        yield CounterMetricFamily("voiceagent_turns_total", "Turns that were measured.", self.turns_total)
        losses = dict.fromkeys(KNOWN["voiceagent_store_losses_total"], 0) | self.losses.counts
        yield _by("voiceagent_store_losses_total", "What the store, or Redis, did not take.", "what", losses)
        yield from self._lag_ms.collect()
        yield CounterMetricFamily(
            "voiceagent_speculative_tool_saved_seconds_total", "Waiting that they saved.", self.speculative_tools_saved_s
        )
        yield GaugeMetricFamily(
            "voiceagent_llm_load", "From 1 on, language model requests wait.", self.llm.load if self.llm else 0.0
        )
        yield _by("voiceagent_llm_problems_total", "Failures, and what was made good.", "problem", self._llm_problems())
        yield _by("voiceagent_stt_problems_total", "Failures of speech recognition.", "problem", self.health.problems["stt"])
        yield _by("voiceagent_tts_problems_total", "Failures of the voice.", "problem", self.health.problems["tts"])
        engines = GaugeMetricFamily("voiceagent_engine_up", "Whether an engine works: stt, llm or tts.", labels=["engine"])
        for name in sorted(NAMES):
            engines.add_metric([name], name not in self.health.down)
        yield engines
        yield from self._stages.collect()
        burning = GaugeMetricFamily("voiceagent_budget_burn", "Burn rates of latency budgets.", labels=["stage", "window"])
        levels = GaugeMetricFamily(
            "voiceagent_budget_level", "Their actions: 0 none, 1 warn, 2 degrade, 3 shed.", labels=["stage"]
        )
        for rates in self.budget_actions.rates():
            burning.add_metric([rates.stage, "short"], rates.short)
            burning.add_metric([rates.stage, "long"], rates.long)
            levels.add_metric([rates.stage], 0 if rates.level is None else 1 + list(OnMiss).index(rates.level))
        yield burning
        yield levels
        for metric in vars(self).values():
            if isinstance(metric, CountsBy):
                yield metric.family(self._engines_drops() if metric is self.queue_drops else {})

    def _llm_problems(self) -> dict[str, int]:
        made_good = self.llm.problems if self.llm else {}
        return {**made_good, **self.health.problems["llm"]}

    def _engines_drops(self) -> dict[str, int]:
        partials = self.stt.dropped_partials if self.stt else 0
        judgements = sum(count for judge in self.judges for count in judge.problems.values())
        full = {"partial decodes": partials, "judgements": judgements}
        return {queue: count for queue, count in full.items() if count}


def _by(name: str, about: str, label: str, values: Mapping[str, float]) -> CounterMetricFamily:
    family = CounterMetricFamily(name, about, labels=[label])
    for value, count in sorted(values.items()):
        family.add_metric([value], count)
    return family
