"""Overview: how fast, what answers, what waits, who works, and what is wrong."""

from datetime import UTC, datetime, timedelta

from nicegui import ui

from skitter.api.dashboard import charts
from skitter.api.dashboard.format import listing, number, percent, rate, size
from skitter.api.dashboard.jobs import address_of_job, new_job_button
from skitter.api.dashboard.parts import (
    Bars,
    Changing,
    Tiles,
    alarms,
    bar,
    empty,
    heading,
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
_MOST = 8


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
            with bar():
                heading(words("nav.overview")).classes("grow")
                if viewer.may(Role.OPERATOR):
                    new_job_button(words)
            self._alarms = Changing()
            self._tiles = Tiles(
                (key, words(f"overview.{key}"))
                for key in ("speed", "pages", "queued", "failed", "jobs", "workers")
            )
            self._first = Changing("stack")
            self._charts()
            with ui.element("div").classes("two"):
                with panel(words("overview.by_job")):
                    self._jobs = Bars(words("nothing_yet"), address=address_of_job)
                with panel(words("overview.busiest")):
                    self._hosts = Bars(words("nothing_yet"))

    def _charts(self) -> None:
        words = self._words
        with ui.element("div").classes("wide-narrow"):
            with panel(words("overview.speed_chart")):
                self._speed = charts.chart(charts.lines([]), words("overview.speed_chart"))
            with panel(words("overview.codes")):
                self._codes = Bars(words("nothing_yet"), status_tone)
        with ui.element("div").classes("two"):
            with panel(words("overview.codes_chart")):
                self._statuses = charts.chart(
                    charts.status_bars([]), words("overview.codes_chart"), "low"
                )
            with panel(words("overview.by_node")):
                self._nodes = Bars(words("nothing_yet"))

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
        self._codes.set(listing(hour.status_codes if hour else {})[:_MOST])
        self._nodes.set(listing(stats.by_node)[:_MOST])
        self._jobs.set(listing(stats.by_job)[:_MOST])
        self._hosts.set((row.host, row.n) for row in stats.busiest_hosts[:_MOST])
        told = stats.alarms[:_MOST]
        self._alarms.set(told, lambda: alarms(told))
        self._first.set(stats.jobs == 0, lambda: None if stats.jobs else self._welcome())

    def _welcome(self) -> None:
        words = self._words
        with panel(), empty(words("jobs.none"), words("jobs.none_next"), icon="rocket_launch"):
            if self._viewer.may(Role.OPERATOR):
                new_job_button(words)

    def _draw_speed(self, answer: SeriesAnswer) -> None:
        whole = [one for one in answer.series if "|" not in one.name]
        line = [(at, n / 10) for at, n in sorted(charts.total(whole).items())]
        named = [(self._words("overview.speed"), charts.begun(line[:-1]))]
        unit = self._words("unit.pages_per_second")
        charts.redraw(self._speed, charts.lines(named, unit=unit, area=True))
