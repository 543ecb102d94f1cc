"""Charts as options of ECharts, which NiceGUI brings along. Pure.

Colours are chosen to be read on light and on dark. Names are values, never keys: a key that begins
with a colon would be run as a script.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from nicegui import ui

from skitter.api.dashboard.format import moment
from skitter.client.events import Point, Series

Options = dict[str, Any]
Line = Sequence[tuple[int, float]]
ACCENT: Final = "#16a394"
_INK: Final = "#8592a0"
_GRID: Final = "rgba(133, 146, 160, .18)"
LINE_COLOURS: Final = (ACCENT, "#5b8def", "#c98a1b", "#a970d8", "#d4607a", "#6d9a3a", "#8592a0")
CLASS_COLOURS: Final = {"2": ACCENT, "3": "#5b8def", "4": "#d39a2d", "5": "#d9564c", "": "#8592a0"}
_SECONDS: Final = {"10s": 10, "minute": 60, "hour": 3600, "day": 86_400}


def seconds_of(step: str) -> int:
    """Return how many seconds one number of a series counts for."""
    return _SECONDS[step]


def line_of(points: Sequence[Point], per: float = 1.0) -> list[tuple[int, float]]:
    """Return points as milliseconds and numbers, each divided by ``per``."""
    placed = ((moment(point.at), point.n) for point in points)
    return [(int(at.timestamp() * 1000), round(n / per, 2)) for at, n in placed if at is not None]


def lines(named: Sequence[tuple[str, Line]], *, unit: str = "", area: bool = False) -> Options:
    """Return a chart of lines over time."""
    series = [
        _line(name, points, LINE_COLOURS[at % len(LINE_COLOURS)], area=area)
        for at, (name, points) in enumerate(named)
    ]
    return _over_time(series, unit=unit, legend=len(named) > 1)


def begun(line: Line, least: int = 18) -> list[tuple[int, float]]:
    """Return a line from where something begins, but not less than its last points."""
    first = next((at for at, (_, n) in enumerate(line) if n), len(line))
    return list(line[max(0, min(first - 1, len(line) - least)) :])


def status_bars(series: Sequence[Series]) -> Options:
    """Return a chart of stacked bars over time, one colour for each class of status codes."""
    classes: dict[str, dict[int, float]] = {}
    for one in series:
        if "|" in one.name:
            continue
        code = one.name.partition("|")[0].partition(":")[2][:1]
        into = classes.setdefault(code if code in CLASS_COLOURS else "", {})
        for at, n in line_of(one.points):
            into[at] = into.get(at, 0) + n
    drawn = [
        _bar(f"{code}xx" if code else "–", sorted(points.items()), CLASS_COLOURS[code])
        for code, points in sorted(classes.items(), key=lambda item: item[0] or "9")
    ]
    return _over_time(drawn, unit="", legend=len(drawn) > 1)


def count_bars(name: str, points: Line) -> Options:
    """Return a chart of bars over time."""
    return _over_time([_bar(name, points, ACCENT)], unit="", legend=False)


def chart(options: Options, label: str, classes: str = "") -> ui.echart:
    """Return a chart with words for those who do not see it."""
    made = ui.echart(options).classes(classes)
    made.props["role"] = "img"
    made.props["aria-label"] = label
    return made


def redraw(shown: ui.echart, options: Options) -> None:
    """Show other options in a chart; the same ones are not sent again."""
    if shown.options == options:
        return
    shown.options.clear()
    shown.options.update(options)
    shown.update()


def total(series: Sequence[Series]) -> dict[int, float]:
    """Return the sum of series, moment by moment."""
    sums: dict[int, float] = {}
    for one in series:
        for at, n in line_of(one.points):
            sums[at] = sums.get(at, 0) + n
    return sums


def _line(name: str, points: Line, colour: str, *, area: bool) -> Options:
    made: Options = {
        "type": "line", "name": name, "data": [list(point) for point in points], "color": colour,
        "showSymbol": False, "smooth": 0.25, "lineStyle": {"width": 1.8}, "animation": False,
    }  # fmt: skip
    if area:
        made["areaStyle"] = {"opacity": 0.12}
    return made


def _bar(name: str, points: Line, colour: str) -> Options:
    return {
        "type": "bar", "name": name, "data": [list(point) for point in points], "color": colour,
        "stack": "all", "barMaxWidth": 14, "animation": False,
    }  # fmt: skip


def _over_time(series: Sequence[Mapping[str, Any]], *, unit: str, legend: bool) -> Options:
    top = 30 if legend or unit else 12
    return {
        "grid": {"left": 8, "right": 18, "top": top, "bottom": 4, "containLabel": True},
        "legend": _LEGEND | {"show": legend},
        "textStyle": {"fontFamily": "Roboto, sans-serif"},
        "tooltip": _TOOLTIP,
        "xAxis": _TIME_AXIS,
        "yAxis": _NUMBER_AXIS | {"name": "" if legend else unit},
        "series": list(series),
    }


_LABEL: Final = {"color": _INK, "fontSize": 11}
_TOOLTIP: Final = {
    "trigger": "axis",
    "confine": True,
    "backgroundColor": "rgba(22, 29, 35, .94)",
    "borderWidth": 0,
    "textStyle": {"color": "#e4e9ee", "fontSize": 12},
}
_LEGEND: Final = {
    "top": 0,
    "left": 0,
    "icon": "roundRect",
    "itemWidth": 10,
    "itemHeight": 10,
    "type": "scroll",
    "textStyle": {"color": _INK, "fontSize": 12},
}
_TIME_AXIS: Final = {
    "type": "time",
    "axisLine": {"lineStyle": {"color": _GRID}},
    "axisTick": {"show": False},
    "axisLabel": _LABEL | {"hideOverlap": True},
    "splitLine": {"show": False},
}
_NUMBER_AXIS: Final = {
    "type": "value",
    "min": 0,
    "splitNumber": 4,
    "nameTextStyle": {"color": _INK, "align": "left"},
    "axisLabel": _LABEL,
    "splitLine": {"lineStyle": {"color": _GRID}},
}
