"""Measure the Bloom filter and put the figures into ``docs``: ``python -m bench.bloom_figures``.

The tables stand between two marks in ``docs/bloom.md``; the words around them are left alone.
"""

import sys
from collections.abc import Sequence

from bench.bloom_experiments import (
    BITS,
    HASHES,
    Measured,
    Repeats,
    groups,
    loads,
    overload,
    repeats,
)
from bench.bloom_svg import Axis, Plot, Point, Series
from bench.paths import ROOT
from skitter.frontier.embedded.seen.sizing import Shape, shape_for
from skitter.frontier.model import SeenOptions

DOCUMENT = ROOT / "docs" / "bloom.md"
BEGIN, END = "<!-- figures: python -m bench.bloom_figures -->", "<!-- end of figures -->"
SIZED = SeenOptions("bloom", expected=200_000, rate=1e-3)
WIDE = 3 * BITS
_PUBLISHED_WRONG = 11_804
"""61,804 called repeats where 50,000 were."""
_CURVE = 120


def repeats_table(result: Repeats, at_a_million: Measured) -> str:
    """Return the first experiment as a table."""
    full = result.full
    return "\n".join(
        [
            "| how the filter is asked | by the formula | measured | published |",
            "|---|---|---|---|",
            f"| the list goes in URL by URL: new ones called repeats | {result.expected:,.0f} |"
            f" {result.wrong:,} ({result.wrong / result.urls:.2%}) | |",
            f"| a million other URLs, the filter holding the {full.urls:,} of the list |"
            f" {full.formula * full.asked:,.0f} | {full.wrong:,} ({full.rate:.2%}) | |",
            f"| a million other URLs, the filter holding {at_a_million.urls:,} |"
            f" {at_a_million.formula * at_a_million.asked:,.0f} | {at_a_million.wrong:,}"
            f" ({at_a_million.rate:.2%}) | {_PUBLISHED_WRONG:,} (1.18%) |",
        ]
    )


def loads_table(points: Sequence[Measured]) -> str:
    """Return the second experiment as a table."""
    rows = [
        f"| {point.urls:,} | {point.formula * point.asked:,.0f} | {point.wrong:,} |"
        f" {point.formula:.3%} | {point.rate:.3%} |"
        for point in points
    ]
    head = "| URLs in the filter | wrong by the formula | wrong, measured | formula | measured |"
    return "\n".join([head, "|---|---|---|---|---|", *rows])


def groups_table(narrow: Sequence[Measured], wide: Sequence[Measured]) -> str:
    """Return the third experiment as a table."""
    rows = [
        f"| {a.groups} | {a.formula * a.asked:,.0f} | {a.wrong:,} | {_few(b.formula * b.asked)} |"
        f" {b.wrong:,} |"
        for a, b in zip(narrow, wide, strict=True)
    ]
    head = "| groups | 10 M bits each: formula | measured | 30 M bits each: formula | measured |"
    return "\n".join([head, "|---|---|---|---|---|", *rows])


def overload_table(points: Sequence[Measured]) -> str:
    """Return what happens to a sized filter as a table."""
    rows = [
        f"| {point.urls / SIZED.expected:.0%} | {_odds(point.formula)} | {_odds(point.rate)} |"
        for point in points
    ]
    head = "| of the expected URLs | one wrong in, by the formula | measured |"
    return "\n".join([head, "|---|---|---|", *rows])


def _few(count: float) -> str:
    return f"{count:,.0f}" if count >= 10 else f"{count:.2g}"


def _odds(rate: float) -> str:
    return f"{1 / rate:,.0f}" if rate and rate < 0.1 else f"{1 / rate:.1f}" if rate else "none seen"


def loads_plot(points: Sequence[Measured]) -> Plot:
    """Draw the second experiment."""
    shape = Shape(1, HASHES, BITS)
    urls = [200_000 + n * 1_100_000 / _CURVE for n in range(_CURVE + 1)]
    curve = [(n / 1e6, shape.rate(round(n)) * 100) for n in urls]
    return Plot(
        "False positives of one filter: 10 million bits, 4 hashes",
        Axis("URLs in the filter (millions)", _ticks((0.2, 0.4, 0.6, 0.8, 1.0, 1.2)), 0.2, 1.3),
        Axis("unknown URLs taken for known", _percents((0, 0.5, 1, 1.5, 2, 2.5)), 0, 2.7),
        [
            Series("formula", curve, "line"),
            Series(
                "measured, a million look-ups each",
                [(p.urls / 1e6, p.rate * 100) for p in points],
                "marks",
                1,
                [f"{p.rate * 100:.2f} %" for p in points],
            ),
        ],
    )


def groups_plot(narrow: Sequence[Measured], wide: Sequence[Measured]) -> Plot:
    """Draw the third experiment."""
    ticks = [(10.0**n, words) for n, words in zip(range(-6, 1), _POWERS, strict=True)]
    return Plot(
        "Every group multiplies the rate: 3 million URLs, 4 hashes a group",
        Axis("groups that have to agree", _ticks((1, 2, 3, 4)), 0.7, 4.3),
        Axis("unknown URLs taken for known", ticks, 1e-6, 1, log=True),
        [
            Series("formula, 10 M bits a group", _formula(narrow), "line"),
            Series("measured", _rates(narrow), "marks"),
            Series("formula, 30 M bits a group", _formula(wide), "line", 1),
            Series("measured", _rates(wide), "marks", 1),
        ],
    )


_POWERS = (
    "1 in 1,000,000",
    "1 in 100,000",
    "1 in 10,000",
    "1 in 1,000",
    "1 in 100",
    "1 in 10",
    "all",
)


def overload_plot(points: Sequence[Measured]) -> Plot:
    """Draw what happens to a filter that was made for fewer URLs."""
    shape = shape_for(SIZED)
    shares = [0.25 + n * 2.85 / _CURVE for n in range(_CURVE + 1)]
    curve = [(s * 100, shape.rate(round(s * SIZED.expected))) for s in shares]
    ticks = [(10.0**n, words) for n, words in zip(range(-6, 1), _POWERS, strict=True)]
    return Plot(
        "A filter holds its rate until it is full (made for 1 in 1,000)",
        Axis(
            "URLs in the filter, of those it was made for",
            _percents((50, 100, 150, 200, 250, 300)),
            40,
            310,
        ),
        Axis("unknown URLs taken for known", ticks, 1e-6, 1, log=True),
        [
            Series("formula", [point for point in curve if point[1] >= 1e-6], "line"),
            Series(
                "measured, two million look-ups each",
                [(p.urls / SIZED.expected * 100, p.rate) for p in points if p.wrong],
                "marks",
                1,
            ),
        ],
        notes=[(100, "as expected")],
    )


def _formula(points: Sequence[Measured]) -> list[Point]:
    return [(p.groups, p.formula) for p in points if p.formula >= 1e-6]


def _rates(points: Sequence[Measured]) -> list[Point]:
    return [(p.groups, p.rate) for p in points if p.wrong]


def _ticks(values: Sequence[float]) -> list[tuple[float, str]]:
    return [(value, f"{value:g}") for value in values]


def _percents(values: Sequence[float]) -> list[tuple[float, str]]:
    return [(value, f"{value:g} %") for value in values]


def placed(text: str, figures: str) -> str:
    """Return a document with the figures between its marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{DOCUMENT}: wanted the marks {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{figures.strip()}\n\n{END}{after}"


def main() -> int:
    """Measure, draw and write."""
    first, filling = repeats(), loads()
    narrow, wide = groups(BITS), groups(WIDE)
    beyond = overload(SIZED)
    sections = [
        "### A million URLs, 50,000 of them repeats",
        repeats_table(first, filling[3]),
        "### 0.4 to 1.2 million URLs in ten million bits, four hashes",
        "![False positives grow with the URLs in the filter, as the formula says](bloom-loads.svg)",
        loads_table(filling),
        "### One to four groups at three million URLs",
        "![Every group multiplies the rate](bloom-groups.svg)",
        groups_table(narrow, wide),
        "### Beyond the expected count",
        "![The rate grows fast beyond the expected count](bloom-overload.svg)",
        overload_table(beyond),
    ]
    text = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(placed(text, "\n\n".join(sections)), encoding="utf-8")
    plots = {
        "loads": loads_plot(filling),
        "groups": groups_plot(narrow, wide),
        "overload": overload_plot(beyond),
    }
    for name, plot in plots.items():
        path = DOCUMENT.with_name(f"bloom-{name}.svg")
        path.write_text(plot.svg(), encoding="utf-8")
        print(path.relative_to(ROOT))
    print(DOCUMENT.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
