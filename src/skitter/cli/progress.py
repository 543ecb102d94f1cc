"""Live progress of a crawl on standard error.

On a terminal a few lines are redrawn in place; elsewhere a plain line comes every few seconds.
Everything shown is read from counters, so watching costs the crawl next to nothing.
"""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TextIO

from skitter.cli import wording
from skitter.cli.log_display import LogDisplay
from skitter.cli.meter import Meter
from skitter.observability.logs import is_json
from skitter.observability.stats import CrawlStats

if TYPE_CHECKING:
    from rich.text import Text

REDRAW_S = 0.25
PLAIN_LINE_S = 5.0
SAME_LINE_S = 600.0
"""A line that says nothing new comes so seldom: the log of an idle service stays readable."""
_SHOWN_KINDS = 6

Fact = tuple[str, str]
"""A label and its value; an empty label stands for a value that explains itself."""


class Display(Protocol):
    """How a person watches one crawl."""

    def open(self) -> None:
        """Take the screen."""

    def close(self) -> None:
        """Give the screen back; idempotent."""

    def say(self, line: str) -> None:
        """Show one sentence for good, above what is redrawn."""

    async def follow(self, stats: CrawlStats) -> None:
        """Show ``stats`` until cancelled."""


def make_display(
    *, quiet: bool, page_limit: int | None = None, stream: TextIO | None = None
) -> Display:
    """Return the display that suits ``stream`` (standard error)."""
    target = sys.stderr if stream is None else stream
    if is_json():
        return LogDisplay()
    if quiet:
        return QuietDisplay()
    view = View(page_limit=page_limit)
    return LiveDisplay(view, target) if target.isatty() else PlainDisplay(view, target)


class View:
    """The facts to show, from the counters and the memory of the last seconds."""

    def __init__(
        self,
        *,
        page_limit: int | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        wall_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._page_limit = page_limit
        self._monotonic = monotonic
        self._wall_ms = wall_ms
        self._started = monotonic()
        self._meter = Meter()

    def lines(self, stats: CrawlStats) -> list[list[Fact]]:
        """Take one look at ``stats`` and return what to show, line by line."""
        now = self._monotonic()
        self._meter.add(now, stats.pages, stats.queued if stats.left is None else stats.left)
        lines = [
            [
                ("", wording.plural(stats.pages, "page")),
                ("", wording.rate(self._meter.speed)),
                *_counted(stats),
            ],
            [
                ("queue", wording.count(stats.queued)),
                ("hosts", wording.count(stats.hosts)),
                ("in flight", _in_flight(stats)),
                ("", wording.size(stats.bytes)),
                ("elapsed", wording.clock(now - self._started)),
                ("left", self._left(stats)),
            ],
        ]
        if stats.status_codes:
            lines.append(_ranked("status", stats.status_codes))
        if stats.errors:
            lines.append(_ranked("errors", stats.errors))
        if note := self._note(stats):
            lines.append([("", note)])
        return lines

    def _left(self, stats: CrawlStats) -> str:
        limit = self._page_limit
        seconds = self._meter.time_left(
            None if limit is None else max(0, limit - stats.pages - stats.aside)
        )
        about = "" if seconds is None else f"about {wording.roughly(seconds)}"
        if stats.left is None:
            return about or "not known yet"
        # A service has no end of its own; what waits for it is known at any moment.
        pages = wording.plural(stats.left, "page") if stats.left else "nothing"
        return f"{pages}, {about}" if about and stats.left else pages

    def _note(self, stats: CrawlStats) -> str:
        if stats.waiting_until_ms is None:
            return stats.note
        seconds = max(0.0, (stats.waiting_until_ms - self._wall_ms()) / 1000)
        waiting = f"waiting {wording.roughly(seconds)}"
        return f"{waiting}: {stats.note}" if stats.note else waiting


class QuietDisplay:
    """Shows nothing."""

    def open(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    def say(self, line: str) -> None:
        """Do nothing."""

    async def follow(self, stats: CrawlStats) -> None:
        """Return at once."""


class PlainDisplay:
    """Prints a line every few seconds, for logs."""

    def __init__(self, view: View, stream: TextIO, every_s: float = PLAIN_LINE_S) -> None:
        self._view = view
        self._stream = stream
        self._every_s = every_s
        self._said: list[Fact] = []
        self._unsaid_s = 0.0

    def open(self) -> None:
        """Do nothing: lines need no screen."""

    def close(self) -> None:
        """Do nothing: lines need no screen."""

    def say(self, line: str) -> None:
        """Print ``line``."""
        print(line, file=self._stream, flush=True)

    async def follow(self, stats: CrawlStats) -> None:
        """Print one line after every interval that brought something, until cancelled."""
        self._view.lines(stats)
        while True:
            await asyncio.sleep(self._every_s)
            facts = [fact for line in self._view.lines(stats) for fact in line]
            if self._is_due(facts):
                self.say(", ".join(f"{label} {value}".strip() for label, value in facts))

    def _is_due(self, facts: list[Fact]) -> bool:
        """Tell whether more than the clock has moved since the last line, or long enough ago."""
        lasting = [fact for fact in facts if fact[0] != "elapsed"]
        self._unsaid_s += self._every_s
        if lasting == self._said and self._unsaid_s < SAME_LINE_S:
            return False
        self._said, self._unsaid_s = lasting, 0.0
        return True


class LiveDisplay:
    """Redraws a few lines in place on a terminal."""

    def __init__(self, view: View, stream: TextIO, every_s: float = REDRAW_S) -> None:
        from rich.console import Console  # noqa: PLC0415  heavy, for terminals alone
        from rich.live import Live  # noqa: PLC0415

        self._view = view
        self._every_s = every_s
        console = Console(file=stream, highlight=False)
        self._live = Live(
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def open(self) -> None:
        """Hide the cursor and begin to draw."""
        self._live.start()

    def close(self) -> None:
        """Wipe what was drawn and show the cursor."""
        self._live.stop()

    def say(self, line: str) -> None:
        """Print ``line`` above what is redrawn."""
        self._live.console.print(line, markup=False)

    async def follow(self, stats: CrawlStats) -> None:
        """Redraw after every interval, until cancelled."""
        while True:
            self._live.update(_drawn(self._view.lines(stats)), refresh=True)
            await asyncio.sleep(self._every_s)


def _in_flight(stats: CrawlStats) -> str:
    shown = wording.count(stats.in_flight)
    if stats.is_shared:
        shown += " here"
    if not stats.limit:
        return shown
    return f"{shown} (held to {wording.count(stats.limit)}: the machine is busy)"


def _counted(stats: CrawlStats) -> list[Fact]:
    named = (
        ("ok", stats.ok),
        ("failed", stats.failed),
        ("refused", stats.refused),
        ("duplicates", stats.duplicates),
        ("set aside", stats.rejected),
        ("dropped", stats.dropped),
    )
    return [(label, wording.count(number)) for label, number in named if number]


def _ranked(label: str, counts: Counter[int] | Counter[str]) -> list[Fact]:
    """Return the commonest kinds; the rest is one number."""
    shown = counts.most_common(_SHOWN_KINDS)
    facts = [(str(kind), wording.count(number)) for kind, number in shown]
    rest = counts.total() - sum(number for _, number in shown)
    if rest:
        facts.append(("other", wording.count(rest)))
    head_kind, head_number = facts[0]
    return [(f"{label} {head_kind}", head_number), *facts[1:]]


def _drawn(lines: list[list[Fact]]) -> "Text":
    from rich.text import Text  # noqa: PLC0415  as above

    text = Text(no_wrap=True, overflow="ellipsis")
    for number, line in enumerate(lines):
        text.append("\n" if number else "")
        for position, (label, value) in enumerate(line):
            text.append("  " if position else " ")
            text.append(f"{label} " if label else "", style="dim")
            text.append(value, style="bold" if number == 0 and position == 0 else "")
    return text
