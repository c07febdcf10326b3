"""The floor after the caller spoke, yielded or kept: the measures of Full-Duplex-Bench (Lin and others 2025, arXiv 2503.04721 and
2507.23159) and the windows of τ-voice (Ray and others 2026, arXiv 2603.13686). docs/scenarios.md tells the differences. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from voiceagent.json_types import JsonObject
from voiceagent.latency.budgets import percentile
from voiceagent.scenarios.scenario import INTERRUPTING, Behaviour

YIELD_MS = 2000.0
"""A reply that is interrupted stops within this time (τ-voice)."""
WRONG_YIELD_MS = 1000.0
"""A reply that stops within this time of a sound that asks nothing of the agent was broken off by it (τ-voice)."""
WRONG_RESPONSE_MS = 2000.0
"""Words within this time of the end of such a sound answer it (τ-voice)."""


@dataclass(frozen=True, slots=True)
class FloorEvent:
    """Something that a caller by speech said or did, and the agent's behaviour then. Times are of the audio sent and received."""

    behaviour: Behaviour
    over_reply: bool = False
    yielded: bool = False
    """True if the reply was broken off."""
    stop_ms: float | None = None
    """From the onset of the caller's sound to the agent's silence; None where it did not yield."""
    response_ms: float | None = None
    """From the end of the caller's sound to the first sound of a new reply; None where there was none."""

    @property
    def yielded_in_time(self) -> bool:
        """True if an interruption was given way to."""
        return self.yielded and self.stop_ms is not None and self.stop_ms <= YIELD_MS

    @property
    def yielded_wrongly(self) -> bool:
        """True if the reply was broken off, however late, or the sound was answered."""
        return self.yielded or self.response_ms is not None

    @property
    def selected(self) -> bool:
        """True if the agent neither stopped nor spoke within the windows."""
        stopped = self.yielded and self.stop_ms is not None and self.stop_ms <= WRONG_YIELD_MS
        return not stopped and (self.response_ms is None or self.response_ms > WRONG_RESPONSE_MS)


def yield_failures(wanted: bool, events: Sequence[FloorEvent]) -> Iterator[str]:
    """Each event that is not as wanted, in one line."""
    if not events:
        yield f"yields {str(wanted).lower()}: nothing was said or done by speech that has a behaviour"
    for event in events:
        if wanted and not event.yielded_in_time:
            stopped = f"it stopped after {event.stop_ms:.0f} ms" if event.stop_ms is not None else "the agent spoke on"
            yield f"yields true: {stopped}; expected within {YIELD_MS:.0f} ms"
        elif not wanted and event.yielded:
            yield "yields false: the reply was broken off"
        elif not wanted and event.response_ms is not None:
            yield f"yields false: the agent answered after {event.response_ms:.0f} ms"


def interaction(events: Sequence[FloorEvent]) -> dict[str, JsonObject]:
    """The measures of each behaviour that occurred."""
    kinds = dict.fromkeys(event.behaviour for event in events)
    return {kind: _measures(kind, [event for event in events if event.behaviour == kind]) for kind in kinds}


def _measures(kind: Behaviour, events: Sequence[FloorEvent]) -> JsonObject:
    def share(held: Sequence[bool]) -> float:
        return sum(held) / len(held)

    answered = share([event.response_ms is not None for event in events])
    found: JsonObject = {"count": len(events)}
    if kind == "turn":
        found["response_rate"] = answered
    elif kind in INTERRUPTING:
        found["yield_rate"] = share([event.yielded_in_time for event in events])
        found |= {"takeover_rate": answered} if kind == "interruption" else {}
    else:
        found["yielded_wrongly"] = share([event.yielded_wrongly for event in events])
        found["selectivity"] = share([event.selected for event in events])
    for name, values in (
        ("stop_ms", [event.stop_ms for event in events if event.stop_ms is not None]),
        ("response_ms", [event.response_ms for event in events if event.response_ms is not None]),
    ):
        if values:
            found[name] = {"p50": percentile(values, 50), "max": max(values)}
    return found
