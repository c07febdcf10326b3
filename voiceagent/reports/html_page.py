"""A report as one page of HTML that needs nothing else: no network, no script."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from voiceagent import __version__
from voiceagent.latency.budgets import percentile
from voiceagent.latency.spans import RESPONSIBLE, Stage, TurnReport, Wait
from voiceagent.reports.kept_words import KeptTurn
from voiceagent.reports.plots import distribution_plot, trend_plot, versions_plot
from voiceagent.reports.turn_groups import TurnGroup

WORST = 10
SHORT_SHARE = 0.04
"""A part of a bar that is shorter has no name in it."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a bar; in percent of the bar."""

    part: str
    owner: str
    start: float
    width: float
    ms: float


@dataclass(frozen=True, slots=True)
class WorstTurn:
    """A turn that was waited for longest."""

    turn: TurnReport
    pieces: list[Piece]
    kept: KeptTurn
    at: str


def as_html(groups: Sequence[TurnGroup], kept: Callable[[Sequence[TurnReport]], Sequence[KeptTurn]] | None = None) -> str:
    """The page. `kept` finds what is kept of the worst turns, to be shown; without it, the page holds times alone."""
    folder = FileSystemLoader(Path(__file__).parent)
    environment = Environment(loader=folder, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["number"] = lambda value: "–" if value is None else f"{value:,.0f}"
    turns = [turn for group in groups for turn in group.turns]
    return environment.get_template("report.html").render(
        version=__version__,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        turns=len(turns),
        calls=len({turn.call_id for turn in turns}),
        first=_day(min(turn.at for turn in turns)),
        last=_day(max(turn.at for turn in turns)),
        groups=[_shown(group, kept) for group in groups],
        has_words=kept is not None,
        short_share=SHORT_SHARE * 100,
    )


def _shown(group: TurnGroup, kept: Callable[[Sequence[TurnReport]], Sequence[KeptTurn]] | None) -> dict[str, object]:
    wholes = [turn.voice_to_voice_ms for turn in group.turns if turn.voice_to_voice_ms is not None]
    stops = [turn.barge_in_stop_ms for turn in group.turns if turn.barge_in_stop_ms is not None]
    limits = next(stage.limits for stage in group.stages if stage.stage is Stage.VOICE_TO_VOICE)
    counts, parts = group.counts(), group.parts()
    mean_ms = sum(part.mean_ms for part in parts)
    start = 0.0
    bar = []
    for part in parts:
        width = part.mean_ms / mean_ms * 100
        bar.append(Piece(part.part, RESPONSIBLE[part.part].owner, start, width, part.mean_ms))
        start += width
    answered = [turn for turn in group.turns if turn.wait is not None and turn.voice_to_voice_ms is not None]
    worst = sorted(answered, key=lambda turn: -(turn.voice_to_voice_ms or 0.0))[:WORST]
    of_worst = kept(worst) if kept is not None else [KeptTurn()] * len(worst)
    curves = {"voice to voice": wholes, "interruption to silence": stops}
    versions: dict[str, list[float]] = {}
    for turn in answered:
        versions.setdefault(turn.facts.version or "before", []).append(turn.voice_to_voice_ms or 0.0)
    return {
        "group": group,
        "counts": counts,
        "parts": [(part, RESPONSIBLE[part.part], part.mean_ms / mean_ms) for part in parts],
        "mean_ms": mean_ms,
        "bar": bar,
        "p50_ms": percentile(wholes, 50) if wholes else None,
        "p95_ms": percentile(wholes, 95) if wholes else None,
        "stop_p95_ms": percentile(stops, 95) if stops else None,
        "worst": [
            WorstTurn(turn, _pieces(turn.wait), found, _moment(turn.at)) for turn, found in zip(worst, of_worst, strict=True)
        ],
        "distribution": Markup(distribution_plot(curves, (limits.p50_ms, limits.p95_ms))) if wholes else "",
        "trend": Markup(trend_plot([(turn.at, turn.voice_to_voice_ms or 0.0) for turn in answered])),
        "versions": Markup(versions_plot(versions)),
    }


def _pieces(wait: Wait | None) -> list[Piece]:
    if wait is None or not wait.duration_ms:
        return []
    scale = 100 / wait.duration_ms
    return [
        Piece(one.part, RESPONSIBLE[one.part].owner, one.start_ms * scale, one.duration_ms * scale, one.duration_ms)
        for one in wait.contributions
    ]


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
