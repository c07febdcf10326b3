"""A turn's measurements as one protocol event, which the page draws as a waterfall."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from voiceagent.latency.spans import Stage, TurnReport
from voiceagent.realtime.server_events import StageSpan, TurnMeasured

MAX_SPANS = 200


def turn_measured(report: TurnReport, limits_ms: Mapping[Stage, float], missed: Collection[Stage] = ()) -> TurnMeasured:
    """The report with its limits. Starts count from the end of the caller's speech: from the start of the endpoint's span, or
    else of the first span. `missed` adds the stages that the live check found over its own limits."""
    origin_ms = next((span.start_ms for span in report.spans if span.stage is Stage.ENDPOINT), None)
    if origin_ms is None:
        origin_ms = min((span.start_ms for span in report.spans), default=0.0)
    late = set(missed)
    for stage, durations in report.durations_ms().items():
        if stage in limits_ms and max(durations) > limits_ms[stage]:
            late.add(stage)
    spans = tuple(
        StageSpan(
            stage=span.stage.value,
            start_ms=round(span.start_ms - origin_ms, 2),
            duration_ms=round(span.duration_ms, 2),
            limit_ms=limits_ms.get(span.stage),
            ok=span.duration_ms <= limits_ms.get(span.stage, span.duration_ms),
        )
        for span in report.spans[-MAX_SPANS:]
    )
    return TurnMeasured(
        turn=report.turn,
        spans=spans,
        voice_to_voice_ms=_rounded(report.voice_to_voice_ms),
        voice_to_voice_limit_ms=limits_ms.get(Stage.VOICE_TO_VOICE),
        barge_in_stop_ms=_rounded(report.barge_in_stop_ms),
        barge_in_stop_limit_ms=limits_ms.get(Stage.BARGE_IN_STOP),
        missed=tuple(stage.value for stage in Stage if stage in late),
    )


def _rounded(value_ms: float | None) -> float | None:
    return None if value_ms is None else round(value_ms, 2)
