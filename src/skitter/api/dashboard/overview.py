"""Overview: how fast, what answers, what waits, who works, and what is wrong."""

from datetime import UTC, datetime, timedelta

from nicegui import ui

from skitter.api.dashboard import charts
from skitter.api.dashboard.format import listing, number, part_of_path, percent, rate, size
from skitter.api.dashboard.parts import (
    Tiles,
    alarm,
    bars,
    button,
    empty,
    heading,
    inside,
    panel,
    stack,
    status_tone,
)
from skitter.api.dashboard.session import Viewer
from skitter.client.base import Role
from skitter.client.calls import events as calls
from skitter.client.events import SeriesAnswer, Stats

_EVERY_S = 2.0
_BACK = timedelta(minutes=15)


async def show(viewer: Viewer) -> None:
    """Draw the page."""
    page = Overview(viewer)
    await page.refresh()
    ui.timer(_EVERY_S, page.refresh, immediate=False)


class Overview:
    """What is on the page, and what changes of it."""

    def __init__(self, viewer: Viewer) -> None:
        words = self._words = viewer.words
        self._viewer = viewer
        ui.page_title(f"{words('nav.overview')} · Skitter")
        with stack():
            heading(words("nav.overview"))
            self._alarms = ui.element("div").classes("stack tight")
            self._tiles = Tiles(
                (key, words(f"overview.{key}"))
                for key in ("speed", "pages", "queued", "failed", "jobs", "workers")
            )
            self._first = ui.element("div")
            self._charts()
            with ui.element("div").classes("two"):
                self._busy = self._box("overview.by_job")
                self._hosts = self._box("overview.busiest")

    def _charts(self) -> None:
        words = self._words
        with ui.element("div").classes("wide-narrow"):
            with panel(words("overview.speed_chart")):
                self._speed = charts.chart(charts.lines([]), words("overview.speed_chart"))
            self._codes = self._box("overview.codes")
        with ui.element("div").classes("two"):
            with panel(words("overview.codes_chart")):
                self._statuses = charts.chart(
                    charts.status_bars([]), words("overview.codes_chart"), "low"
                )
            self._nodes = self._box("overview.by_node")

    def _box(self, title: str) -> ui.element:
        with panel(self._words(title)):
            return ui.element("div").classes("stack tight")

    async def refresh(self) -> None:
        """Ask how everything stands, and show it."""
        stats = await self._viewer.read(calls.stats())
        since = (datetime.now(UTC) - _BACK).isoformat(timespec="seconds")
        speed = await self._viewer.read(calls.series("pages", step="10s", since=since))
        codes = await self._viewer.read(calls.series("status", step="minute", since=since))
        if stats is not None:
            self._numbers(stats)
            self._lists(stats)
        if speed is not None:
            self._draw_speed(speed)
        if codes is not None:
            charts.redraw(self._statuses, charts.status_bars(codes.series))

    def _numbers(self, stats: Stats) -> None:
        words, minute, hour = self._words, stats.windows.get("minute"), stats.windows.get("hour")
        tiles = self._tiles
        per_s = rate(stats.pages_per_second)
        tiles.set(
            "speed", words("per_second", n=per_s), size(minute.bytes if minute else 0) + "/min"
        )
        tiles.set("pages", number(stats.pages), size(stats.bytes))
        tiles.set("queued", number(stats.queued), words("overview.leased", n=number(stats.leased)))
        failed, pages = (hour.failed, hour.pages) if hour else (0, 0)
        tiles.set("failed", percent(failed, pages), words("overview.failed_hint", n=number(failed)))
        tiles.set("jobs", number(stats.running), words("overview.of_jobs", n=number(stats.jobs)))
        tiles.set(
            "workers", number(stats.workers), words("overview.on_nodes", n=number(stats.nodes))
        )

    def _lists(self, stats: Stats) -> None:
        hour = stats.windows.get("hour")
        self._fill(self._codes, listing(hour.status_codes if hour else {})[:8], tones=True)
        self._fill(self._nodes, listing(stats.by_node)[:8])
        self._fill(self._hosts, [(row.host, row.n) for row in stats.busiest_hosts[:8]])
        self._jobs(stats)
        self._alarms.clear()
        with self._alarms:
            for text in stats.alarms[:5]:
                alarm(text)
        self._welcome(stats)

    def _fill(self, box: ui.element, rows: list[tuple[str, float]], *, tones: bool = False) -> None:
        box.clear()
        with box:
            if rows:
                bars(rows, status_tone if tones else None)
            else:
                ui.label(self._words("nothing_yet")).classes("faint")

    def _jobs(self, stats: Stats) -> None:
        self._busy.clear()
        with self._busy:
            for job, n in listing(stats.by_job)[:8]:
                with ui.element("div").classes("bar"):
                    inside(job, f"/jobs/{part_of_path(job)}", "cut grow")
                    ui.label(number(n)).classes("num")
            if not stats.by_job:
                ui.label(self._words("nothing_yet")).classes("faint")

    def _welcome(self, stats: Stats) -> None:
        words = self._words
        self._first.clear()
        if stats.jobs:
            return
        with (
            self._first,
            panel(),
            empty(words("jobs.none"), words("jobs.none_next"), icon="rocket_launch"),
        ):
            if self._viewer.may(Role.OPERATOR):
                button(
                    words("jobs.new"), lambda: ui.navigate.to("/jobs/new"), icon="add", style="main"
                )

    def _draw_speed(self, answer: SeriesAnswer) -> None:
        whole = [one for one in answer.series if "|" not in one.name]
        line = [(at, n / 10) for at, n in sorted(charts.total(whole).items())]
        options = charts.lines([(self._words("overview.speed"), line[:-1])], area=True,
                               unit=self._words("unit.pages_per_second"))  # fmt: skip
        charts.redraw(self._speed, options)
