"""One job: how it stands, what it brings, and what can be done with it."""

import json
from datetime import UTC, datetime, timedelta
from typing import Final

from nicegui import ui

from skitter.api.dashboard import charts
from skitter.api.dashboard.format import listing, number, part_of_path, percent, size
from skitter.api.dashboard.job_acts import acts
from skitter.api.dashboard.job_limits import at_limit, limits_form, limits_read, shown_state
from skitter.api.dashboard.parts import (
    Bars,
    Changing,
    Tiles,
    alarms,
    bar,
    button,
    empty,
    facts,
    heading,
    inside,
    outside,
    panel,
    stack,
    state_badge,
    status_tone,
)
from skitter.api.dashboard.records import Records
from skitter.api.dashboard.rejects import Rejects
from skitter.api.dashboard.session import Viewer
from skitter.client.base import Role
from skitter.client.calls import events as event_calls
from skitter.client.calls import jobs as calls
from skitter.client.jobs import JobDetail

_EVERY_S: Final = 2.0
_MOST_TOLD: Final = 5
_TRIED: Final = 20
"""Pages of a job under way before it is worth telling what its rules have not found."""
_BACK: Final = {
    "10s": timedelta(minutes=15),
    "minute": timedelta(hours=2),
    "hour": timedelta(days=2),
    "day": timedelta(days=30),
}


async def show(viewer: Viewer, job_id: str) -> None:
    """Draw the page."""
    words = viewer.words
    ui.page_title(f"{job_id} · Skitter")
    job = await viewer.find(calls.job(job_id))
    if job is None:
        with panel(), empty(words("job.not_found"), words("job.not_found_next"), icon="search_off"):
            button(words("job.all"), lambda: ui.navigate.to("/jobs"))
        return
    page = OneJob(viewer, job)
    await page.draw()
    ui.timer(_EVERY_S, page.refresh, immediate=False)


class OneJob:
    """What is on the page of a job."""

    def __init__(self, viewer: Viewer, job: JobDetail) -> None:
        self._viewer, self._words, self._job = viewer, viewer.words, job
        self._step = "10s"
        self._lists: dict[str, Records | Rejects] = {}

    async def draw(self) -> None:
        """Draw everything once; what changes is changed in place."""
        words = self._words
        with stack():
            self._head = bar()
            self._alarms = Changing()
            self._tiles = Tiles(
                (key, words(f"job.{key}" if key in _OWN else f"jobs.{key}"))
                for key in ("pages", "ok", "failed", "queued", "scheduled", "bytes")
            )
            with ui.tabs().props("align=left dense no-caps") as tabs:
                names = {key: ui.tab(key, words(f"job.tab_{key}")) for key in _TABS}
            with ui.tab_panels(tabs, value="overview").props("animated=false"):
                with ui.tab_panel(names["overview"]):
                    self._overview()
                for key in ("pages", "rejects"):
                    with ui.tab_panel(names[key]):
                        self._list(key)
                with ui.tab_panel(names["spec"]):
                    self._definition()
            # What is listed is read when it is wanted: a job that runs has more by then.
            tabs.on_value_change(lambda: self._open_list(str(tabs.value)))
        self._show(self._job)
        await self._draw_chart()

    def _overview(self) -> None:
        words = self._words
        with stack():
            with ui.element("div").classes("wide-narrow"):
                with panel(words("job.speed")):
                    steps = {step: words(f"job.per_{step}") for step in _BACK}
                    choice = ui.toggle(steps, value=self._step).props("dense no-caps flat")
                    choice.on_value_change(lambda event: self._other_step(event.value))
                    self._chart = charts.chart(charts.count_bars("", []), words("job.speed"))
                with panel(words("job.codes")):
                    self._codes = Bars(words("nothing_yet"), status_tone)
                    heading(words("job.errors"), 3)
                    self._errors = Bars(words("job.no_errors"), status_tone)
            with ui.element("div").classes("two"):
                with panel(words("job.tab_spec")):
                    self._facts = Changing()
                with panel(words("job.limits")):
                    self._limits = Changing()

    def _list(self, key: str) -> None:
        with panel():
            made = Records if key == "pages" else Rejects
            shown = self._lists[key] = made(self._viewer, self._job.id)
            with bar():
                button(self._words("act.refresh"), shown.refresh, icon="refresh", style="quiet")

    async def _open_list(self, key: str) -> None:
        if (shown := self._lists.get(key)) is not None:
            await shown.refresh()

    def _definition(self) -> None:
        with panel(), ui.element("pre").classes("log").props('tabindex="0"'):
            text = json.dumps(self._job.spec, indent=2, ensure_ascii=False)
            ui.label(text).style("display: contents")

    async def _other_step(self, step: str) -> None:
        self._step = step
        await self._draw_chart()

    async def refresh(self) -> None:
        """Ask how the job stands, and show it."""
        job = await self._viewer.read(calls.job(self._job.id))
        if job is not None:
            self._show(job)
            await self._draw_chart()

    def _show(self, job: JobDetail) -> None:
        changed = _headed(job) != _headed(self._job) or not self._head.default_slot.children
        self._job = job
        if changed:
            self._heading(job)
        self._numbers(job)
        limit = at_limit(job, self._words)
        told = ([limit] if limit else []) + job.alarms[:_MOST_TOLD]
        if job.pages >= _TRIED or job.state not in ("running", "waiting"):
            told += job.warnings[:_MOST_TOLD]
        self._alarms.set(told, lambda: alarms(told))

    def _heading(self, job: JobDetail) -> None:
        words = self._words
        self._head.clear()
        with self._head:
            inside(words("nav.jobs"), "/jobs")
            ui.label("/").classes("faint")
            heading(job.id)
            state_badge(shown_state(job), words)
            ui.label(words.known("kind", job.kind)).classes("soft grow")
            with inside(
                words("job.export"), f"/download/{part_of_path(job.id)}.csv", "q-btn second"
            ) as link:
                link.props("download")
            acts(self._viewer, job, self.refresh)

    def _numbers(self, job: JobDetail) -> None:
        tiles = self._tiles
        words = self._words
        tiles.set("pages", number(job.pages), words("job.hosts") + f": {number(job.hosts)}")
        # Pages that come again are counted at each visit.
        visits = max(job.pages, job.ok + job.failed + job.refused)
        tiles.set("ok", number(job.ok), percent(job.ok, visits))
        tiles.set("failed", number(job.failed), percent(job.failed, visits))
        tiles.set("queued", number(job.queued), words("overview.leased", n=number(job.leased)))
        tiles.set(
            "scheduled", number(job.scheduled), f"{words('job.refused')}: {number(job.refused)}"
        )
        tiles.set("bytes", size(job.bytes), f"{words('job.duplicates')}: {number(job.duplicates)}")
        self._codes.set(listing(job.status_codes)[:8])
        self._errors.set(listing(job.errors)[:8])
        fixed = (job.limits, job.rejected, job.sitemaps, job.stopped_by, job.owner, job.labels)
        self._facts.set(fixed, lambda: self._what(job))
        self._limits.set((job.limits, job.priority), lambda: self._draw_limits(job))

    def _draw_limits(self, job: JobDetail) -> None:
        if self._viewer.may(Role.OPERATOR):
            limits_form(self._viewer, job)
        else:
            limits_read(job)

    def _what(self, job: JobDetail) -> None:
        words = self._words
        records = job.records if isinstance(job.records, str) else ", ".join(job.records)
        depth = words("job.no_limit") if job.depth is None else str(job.depth)
        for entry in job.entries[:10]:
            outside(entry)
        facts(
            [
                (words("job.scope"), job.scope),
                (words("job.depth"), depth),
                (words("job.order"), job.order),
                (words("jobs.owner"), job.owner),
                (words("job.labels"), ", ".join(f"{k}={v}" for k, v in job.labels.items())),
                (words("job.records"), records),
                (words("job.sitemaps"), number(job.sitemaps)),
                (words("job.rejected"), number(job.rejected)),
                (words("job.stopped_by"), job.stopped_by),
            ]
        )

    async def _draw_chart(self) -> None:
        since = (datetime.now(UTC) - _BACK[self._step]).isoformat(timespec="seconds")
        name = f"pages|job={self._job.id}"
        answer = await self._viewer.read(event_calls.series(name, step=self._step, since=since))
        if answer is not None:
            points = sorted(charts.total(answer.series).items())
            charts.redraw(
                self._chart, charts.count_bars(self._words("jobs.pages"), charts.begun(points))
            )


def _headed(job: JobDetail) -> tuple[object, ...]:
    """Return what the heading of the page depends on."""
    return (job.state, job.stopped_by, job.limits)


_TABS: Final = ("overview", "pages", "rejects", "spec")
_OWN: Final = ("ok", "scheduled", "bytes")
