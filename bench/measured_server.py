"""`python -m bench.measured_server MODE serve …` is `voiceagent serve` for `bench.measuring`. `on` is the server as it is. `off`
has no counters, spans, turn times, records or loop monitor. `counted` is `on`, and tells the CPU of each part in `/metrics`."""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import voiceagent.agent_service as service
import voiceagent.call.call as call
import voiceagent.server.http.app as app
from voiceagent.call.observer import CallObserver
from voiceagent.cli import main
from voiceagent.latency.turns import TurnMeter
from voiceagent.server.calls.pressure import Pressure
from voiceagent.server.monitoring.call_recorder import CallRecorder
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.server.monitoring.observers import Measured, TurnLog
from voiceagent.server.monitoring.telemetry import CallTraces

CPU = "bench_cpu_seconds"
PARTS: dict[str, tuple[type, tuple[str, ...]]] = {
    "spans and turn times": (TurnMeter, ("observe",)),
    "counters": (Measured, ("stepped", "measured", "out_of_phase", "judged", "engine_used")),
    "log line a turn": (TurnLog, ("stepped", "measured")),
    "records, events, event log": (CallRecorder, ("stepped", "measured", "ended")),
    "traces": (CallTraces, ("stepped", "measured")),
    "reading /metrics": (Metrics, ("render",)),
}
THREADS = {"store": "writing to the store", "loop-monitor": "loop monitor's thread", "Otel": "sending by OTLP"}
"""The threads that measure, by how their names begin."""


class Unmeasured:
    """In place of a call's `TurnMeter`."""

    def __init__(self, *_: object) -> None: ...

    def observe(self, *_: object) -> None:
        """Nothing."""


def off() -> None:
    """Measure nothing."""
    for name in ("Measured", "TurnLog", "CallRecorder"):
        setattr(service, name, lambda *_, **__: CallObserver())
    setattr(call, "TurnMeter", Unmeasured)  # noqa: B010
    setattr(app, "LoopMonitor", lambda *_, **__: nullcontext())  # noqa: B010


def counted() -> None:
    """Count the CPU of each part."""
    taken: Counter[str] = Counter()
    for part, (kind, names) in PARTS.items():
        for name in names:
            setattr(kind, name, _timed(getattr(kind, name), part, taken))
    render = Metrics.render

    def told(metrics: Metrics) -> str:
        text = render(metrics)
        threads = {part: _thread_s(begin) for begin, part in THREADS.items()}
        return text + "".join(f'{CPU}{{part="{part}"}} {cpu_s}\n' for part, cpu_s in {**taken, **threads}.items())

    setattr(Metrics, "render", told)  # noqa: B010


def _timed(method: Callable[..., Any], part: str, taken: Counter[str]) -> Callable[..., Any]:
    @functools.wraps(method)
    def timed(*given: Any, **named: Any) -> Any:
        began_s = time.thread_time()
        try:
            return method(*given, **named)
        finally:
            taken[part] += time.thread_time() - began_s  # type: ignore[assignment]  # seconds

    return timed


def _thread_s(begin: str) -> float:
    threads = [thread.ident for thread in threading.enumerate() if thread.name.startswith(begin) and thread.ident]
    return sum(time.clock_gettime(time.pthread_getcpuclockid(ident)) for ident in threads)


if __name__ == "__main__":
    setattr(Pressure, "carries", lambda *_: True)  # noqa: B010 - a server that measures nothing would refuse no call
    {"on": lambda: None, "off": off, "counted": counted}[sys.argv.pop(1)]()
    main()
