"""A small plot as SVG: axes, lines, marks, a legend; readable on light and on dark pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import log10
from typing import Literal

WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 144, 28, 78, 62
_STYLE = """
text { font-family: -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; }
.paper { fill: #ffffff; }
.title { fill: #1f2328; font-size: 17px; font-weight: 600; }
.words { fill: #1f2328; font-size: 13px; }
.label { fill: #59636e; font-size: 13px; }
.tick { fill: #59636e; font-size: 12px; }
.grid { stroke: #d8dee4; stroke-width: 1; }
.axis { stroke: #59636e; stroke-width: 1.2; }
.note { stroke: #59636e; stroke-width: 1.2; stroke-dasharray: 2 4; }
.line { fill: none; stroke-width: 2.2; stroke-linejoin: round; }
.dashes { fill: none; stroke-width: 1.6; stroke-dasharray: 6 5; opacity: 0.75; }
.mark { stroke: #ffffff; stroke-width: 1.8; }
.k0 { stroke: #0969da; } .k1 { stroke: #bc4c00; } .k2 { stroke: #1a7f37; }
.f0 { fill: #0969da; } .f1 { fill: #bc4c00; } .f2 { fill: #1a7f37; }
@media (prefers-color-scheme: dark) {
  .paper { fill: #0d1117; }
  .title, .words { fill: #e6edf3; }
  .label, .tick { fill: #9198a1; }
  .grid { stroke: #2a313c; }
  .axis, .note { stroke: #9198a1; }
  .mark { stroke: #0d1117; }
  .k0 { stroke: #58a6ff; } .k1 { stroke: #f0883e; } .k2 { stroke: #3fb950; }
  .f0 { fill: #58a6ff; } .f1 { fill: #f0883e; } .f2 { fill: #3fb950; }
}
"""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Series:
    """Points that belong together."""

    name: str
    """In the legend; "" leaves it out there."""
    points: Sequence[Point]
    kind: Literal["line", "dashes", "marks"]
    colour: int = 0
    labels: Sequence[str] = ()
    """Words beside the points."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One direction of the plot: its words, its ends and where it has ticks."""

    label: str
    ticks: Sequence[tuple[float, str]]
    low: float
    high: float
    log: bool = False

    def share(self, value: float) -> float:
        """Return how far along the axis a value is, from 0 to 1."""
        if self.log:
            value = max(value, self.low)
            return (log10(value) - log10(self.low)) / (log10(self.high) - log10(self.low))
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Plot:
    """Everything that is drawn."""

    title: str
    x: Axis
    y: Axis
    series: Sequence[Series]
    notes: Sequence[tuple[float, str]] = ()
    """Where dotted lines stand, and the words beside them."""

    def at(self, point: Point) -> Point:
        """Return where a point is drawn."""
        across = LEFT + self.x.share(point[0]) * (WIDTH - LEFT - RIGHT)
        return across, HEIGHT - BOTTOM - self.y.share(point[1]) * (HEIGHT - TOP - BOTTOM)

    def svg(self) -> str:
        """Return the picture."""
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
            f' width="{WIDTH}" height="{HEIGHT}" role="img">',
            f"<title>{escape(self.title)}</title>",
            f"<style>{_STYLE}</style>",
            f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}" rx="8"/>',
            _text("title", 24, 30, self.title),
            *self._grid(),
            *self._notes(),
            *(mark for series in self.series for mark in self._series(series)),
            *self._legend(),
            "</svg>",
        ]
        return "\n".join(parts) + "\n"

    def _grid(self) -> list[str]:
        floor, right = HEIGHT - BOTTOM, WIDTH - RIGHT
        parts = []
        for value, words in self.y.ticks:
            _, down = self.at((self.x.low, value))
            parts.append(_line("grid", LEFT, down, right, down))
            parts.append(_text("tick", LEFT - 10, down + 4, words, "end"))
        for value, words in self.x.ticks:
            across, _ = self.at((value, self.y.low))
            parts.append(_line("axis", across, floor, across, floor + 5))
            parts.append(_text("tick", across, floor + 21, words, "middle"))
        parts.append(_line("axis", LEFT, floor, right, floor))
        parts.append(_text("label", (LEFT + right) / 2, HEIGHT - 16, self.x.label, "middle"))
        middle = (TOP + floor) / 2
        turned = f' transform="rotate(-90 28 {middle:.1f})"'
        parts.append(_text("label", 28, middle, self.y.label, "middle", turned))
        return parts

    def _notes(self) -> list[str]:
        parts = []
        for value, words in self.notes:
            across, _ = self.at((value, self.y.low))
            parts.append(_line("note", across, TOP, across, HEIGHT - BOTTOM))
            parts.append(_text("label", across - 8, TOP + 14, words, "end"))
        return parts

    def _series(self, series: Series) -> list[str]:
        drawn = [self.at(point) for point in series.points]
        if series.kind != "marks":
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in drawn)
            return [f'<polyline class="{series.kind} k{series.colour}" points="{path}"/>']
        parts = [_dot(x, y, series.colour) for x, y in drawn]
        for (x, y), words in zip(drawn, series.labels, strict=bool(series.labels)):
            parts.append(_text("words", x - 9, y - 9, words, "end"))
        return parts

    def _legend(self) -> list[str]:
        parts, x = [], 24.0
        for series in self.series:
            if not series.name:
                continue
            if series.kind != "marks":
                parts.append(_line(f"{series.kind} k{series.colour}", x, 52, x + 22, 52))
            else:
                parts.append(_dot(x + 11, 52, series.colour))
            parts.append(_text("words", x + 30, 56, series.name))
            x += 52 + 6.7 * len(series.name)
        return parts


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _dot(x: float, y: float, colour: int) -> str:
    return f'<circle class="mark f{colour}" cx="{x:.1f}" cy="{y:.1f}" r="6"/>'


def _text(kind: str, x: float, y: float, words: str, anchor: str = "start", more: str = "") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>'
        f"{escape(words)}</text>"
    )
