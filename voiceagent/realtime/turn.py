"""A turn's measurements as one protocol event, which the page draws as a waterfall."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from voiceagent.latency.spans import Stage, TurnReport, Wait
from voiceagent.realtime.server_events import ServerEvent

MAX_SPANS = 200


class StageSpan(msgspec.Struct, frozen=True):
    """One stage of a turn. `limit_ms` is None when the budget sets none."""

    stage: str
    start_ms: float
    """From the end of the caller's speech; negative before it."""
    duration_ms: float
    limit_ms: float | None
    ok: bool


class WaitPart(msgspec.Struct, frozen=True):
    """A piece of the wait for the first sound of a reply."""

    part: str
    """A value of `latency.wait.WaitCause`."""
    start_ms: float
    """From the beginning of the wait."""
    duration_ms: float


class TurnMeasured(ServerEvent, frozen=True, kw_only=True):
    """The time that each stage of a turn took, against the budget."""

    turn: int
    spans: tuple[StageSpan, ...]
    voice_to_voice_ms: float | None
    """None when nothing of the reply was heard."""
    voice_to_voice_limit_ms: float | None
    barge_in_stop_ms: float | None
    """None when the reply was not interrupted."""
    barge_in_stop_limit_ms: float | None
    missed: tuple[str, ...]
    """The stages that were over their limit."""
    wait_ms: float | None = None
    """From the end of the caller's speech, or from the request for a reply to a typed message, to the first sound of the reply.
    None when nothing of the reply was heard."""
    wait: tuple[WaitPart, ...] = ()
    """The parts of the caller's wait, in order of time, without gap or overlap; they add up to `wait_ms`."""
    typed: bool = False
    """True when the reply answers a typed message."""


def turn_measured(report: TurnReport, limits_ms: Mapping[Stage, float], missed: Collection[Stage] = ()) -> TurnMeasured:
    """The report with its limits. Starts count from the beginning of the wait, the end of the caller's speech. Where nothing was
    heard, they count from the last endpoint's span, or else from the first span. `missed` adds the stages that the live check
    found over its own limits."""
    origin_ms = _origin_ms(report)
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
        wait_ms=None if report.wait is None else _rounded(report.wait.duration_ms),
        wait=() if report.wait is None else _parts(report.wait),
        typed=report.wait is not None and report.wait.typed,
    )


def _origin_ms(report: TurnReport) -> float:
    if report.wait is not None:
        return report.wait.began_ms
    endpoints = [span.start_ms for span in report.spans if span.stage is Stage.ENDPOINT]
    return max(endpoints, default=min((span.start_ms for span in report.spans), default=0.0))


def _parts(wait: Wait) -> tuple[WaitPart, ...]:
    """The contributions with rounded ends, so that each begins where the one before it ended."""
    ends_ms = [round(piece.start_ms + piece.duration_ms, 2) for piece in wait.contributions]
    starts_ms = [0.0, *ends_ms[:-1]]
    return tuple(
        WaitPart(part=piece.part.value, start_ms=start_ms, duration_ms=round(end_ms - start_ms, 2))
        for piece, start_ms, end_ms in zip(wait.contributions, starts_ms, ends_ms, strict=True)
    )


def _rounded(value_ms: float | None) -> float | None:
    return None if value_ms is None else round(value_ms, 2)
