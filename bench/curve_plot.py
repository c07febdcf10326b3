"""Draws how often something goes wrong against latency as a small SVG by hand, readable on a light and on a dark page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 64, 20, 24, 56
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f; }
  .grid { stroke: #d0d7de; stroke-width: 1; }
  .goal { fill: #2da44e; fill-opacity: .18; }
  .line { fill: none; stroke-width: 2.5; stroke-linejoin: round; }
  .c0 { stroke: #0969da; } .c1 { stroke: #bc4c00; } .c2 { stroke: #8250df; }
  .d0 { fill: #0969da; } .d1 { fill: #bc4c00; } .d2 { fill: #8250df; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .grid { stroke: #3d444d; }
    .c0 { stroke: #58a6ff; } .c1 { stroke: #f0883e; } .c2 { stroke: #bc8cff; }
    .d0 { fill: #58a6ff; } .d1 { fill: #f0883e; } .d2 { fill: #bc8cff; }
  }"""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Axes:
    """The ranges and labels of the axes."""

    most_ms: float = 2000.0
    most_percent: float = 80.0
    step_ms: int = 250
    step_percent: int = 10
    below: str = "median time from the end of speech to the endpoint, ms"
    above: str = "turns cut off, %"


@dataclass(frozen=True, slots=True)
class Curve:
    """A rule at several thresholds."""

    name: str
    points: Sequence[Point]
    """Latency in ms, and what goes wrong in per cent."""


ENDPOINTS = Axes()


def plot(curves: Sequence[Curve], chosen: Point, goal: Point, axes: Axes = ENDPOINTS) -> str:
    """The SVG: the curves, a dot where the agent runs, and the corner that `goal` allows."""
    left, top = _at((0.0, goal[1]), axes)
    right, bottom = _at((goal[0], 0.0), axes)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{axes.above}, against the {axes.below}">',
        f"<style>{STYLE}\n</style>",
        *_axes(axes),
        f'<rect class="goal" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}"/>',
    ]
    for index, curve in enumerate(curves):
        inside = [point for point in curve.points if point[0] <= axes.most_ms and point[1] <= axes.most_percent]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (_at(point, axes) for point in inside))
        parts.append(f'<polyline class="line c{index}" points="{line}"/>')
        parts += [
            f'<circle class="d{index}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in (_at(point, axes) for point in inside)
        ]
        key = TOP + 18 + 20 * index
        parts.append(f'<rect class="d{index}" x="{WIDTH - 270}" y="{key - 9}" width="18" height="4"/>')
        parts.append(f'<text x="{WIDTH - 244}" y="{key - 2}">{curve.name}</text>')
    x, y = _at(chosen, axes)
    parts.append(f'<circle class="line c0" cx="{x:.1f}" cy="{y:.1f}" r="8"/>')
    parts.append(f'<text x="{x + 14:.1f}" y="{y - 10:.1f}">default: {chosen[0]:.0f} ms, {chosen[1]:.1f} %</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _at(point: Point, axes: Axes) -> Point:
    x = LEFT + point[0] / axes.most_ms * (WIDTH - LEFT - RIGHT)
    return x, HEIGHT - BOTTOM - point[1] / axes.most_percent * (HEIGHT - TOP - BOTTOM)


def _axes(axes: Axes) -> list[str]:
    parts = []
    for ms in range(0, int(axes.most_ms) + 1, axes.step_ms):
        x, y = _at((ms, 0), axes)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{ms}</text>')
    for percent in range(0, int(axes.most_percent) + 1, axes.step_percent):
        x, y = _at((0, percent), axes)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{x - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{percent}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 14}" text-anchor="middle">'
                 f"{axes.below}</text>")  # fmt: skip
    parts.append(f'<text x="{LEFT}" y="{TOP - 9}">{axes.above}</text>')
    return parts
