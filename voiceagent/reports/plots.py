"""The plots of a report, as SVG inside the page (pygal). They take the page's colours, light and dark."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import pygal
from pygal.style import Style

from voiceagent.latency.budgets import percentile

STYLE = Style(
    background="transparent",
    plot_background="transparent",
    foreground="var(--soft)",
    foreground_strong="var(--ink)",
    foreground_subtle="var(--rule)",
    colors=("var(--caller)", "var(--over)", "var(--agent)", "var(--bad)"),
    font_family="inherit",
    guide_stroke_color="var(--rule)",
    major_guide_stroke_color="var(--rule)",
    label_font_size=13,
    major_label_font_size=13,
    legend_font_size=14,
    title_font_size=15,
    transition="0s",
)
STEPS = 200
"""Points of a distribution's curve."""
DAY_S = 86_400
SCRIPT = re.compile(r"<script.*?</script>", re.DOTALL)
"""The settings of pygal's tooltips, which need a script from elsewhere."""


def _chart(kind: type, **options: object) -> pygal.graph.graph.Graph:
    return kind(
        style=STYLE,
        js=[],
        width=560,
        height=300,
        margin=8,
        legend_at_bottom=True,
        show_dots=False,
        disable_xml_declaration=True,
        explicit_size=False,
        **options,
    )


def distribution_plot(curves: Mapping[str, Sequence[float]], limits_ms: tuple[float, float]) -> str:
    """The share of turns, in percent, that took at most so many milliseconds, with the limits of p50 and p95 as points."""
    chart = _chart(pygal.XY, x_title="ms", y_title="% of turns", range=(0, 100))
    longest = max((percentile(values, 99) for values in curves.values() if values), default=1.0)
    for name, values in curves.items():
        ordered = sorted(values)
        if not ordered:
            continue
        shares = [step / STEPS * 100 for step in range(STEPS + 1)]
        points = [(percentile(ordered, share), share) for share in shares]
        chart.add(name, [(round(ms, 1), share) for ms, share in points if ms <= longest])
    chart.add("limits", [(limits_ms[0], 50), (limits_ms[1], 95)], stroke=False, show_dots=True, dots_size=5)
    return _svg(chart)


def trend_plot(times: Sequence[tuple[float, float]]) -> str:
    """The p50 and p95 of each day, of pairs of Unix seconds and milliseconds. Empty if all are of one day."""
    days: dict[int, list[float]] = {}
    for at, ms in times:
        days.setdefault(int(at // DAY_S), []).append(ms)
    if len(days) < 2:
        return ""
    chart = _chart(pygal.Line, y_title="ms", x_label_rotation=30, show_minor_x_labels=False, include_x_axis=True)
    ordered = sorted(days)
    labels = [datetime.fromtimestamp(day * DAY_S, UTC).strftime("%m-%d") for day in ordered]
    chart.x_labels = labels
    chart.x_labels_major = labels[:: max(1, len(labels) // 10)]
    for percent in (50, 95):
        chart.add(f"p{percent}", [round(percentile(days[day], percent), 1) for day in ordered], show_dots=True)
    return _svg(chart)


def versions_plot(versions: Mapping[str, Sequence[float]]) -> str:
    """The p50 and p95 of each version. Empty if there is but one."""
    if len(versions) < 2:
        return ""
    chart = _chart(pygal.Bar, y_title="ms", include_x_axis=True)
    chart.x_labels = list(versions)
    for percent in (50, 95):
        chart.add(f"p{percent}", [round(percentile(values, percent), 1) for values in versions.values()])
    return _svg(chart)


def _svg(chart: pygal.graph.graph.Graph) -> str:
    svg: str = chart.render(is_unicode=True)
    return SCRIPT.sub("", svg)
