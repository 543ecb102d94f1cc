"""Rejects: records that were set aside, by job, and why."""

from nicegui import ui

from skitter.api.dashboard import tables
from skitter.api.dashboard.i18n.words import Words
from skitter.api.dashboard.parts import bar, button, empty, heading, panel, stack
from skitter.api.dashboard.records import address_of
from skitter.api.dashboard.session import Viewer
from skitter.client.calls import jobs as calls
from skitter.client.jobs import Reject

_AT_ONCE = 50


async def show(viewer: Viewer, job: str = "") -> None:
    """Draw the page."""
    words = viewer.words
    ui.page_title(f"{words('nav.rejects')} · Skitter")
    with stack():
        heading(words("rejects.title"))
        ui.label(words("rejects.hint")).classes("soft")
        answer = await viewer.read(calls.jobs(limit=500))
        with_some = [row for row in answer.jobs if row.rejected] if answer is not None else []
        with panel():
            if not with_some and not job:
                empty(words("rejects.none"), words("rejects.none_next"), icon="task_alt")
                return
            names = {row.id: f"{row.id} ({row.rejected:,})" for row in with_some}
            chosen = job or with_some[0].id
            names.setdefault(chosen, chosen)
            choice = ui.select(names, label=words("pages.job"), value=chosen)
            choice.props("outlined dense options-dense").style("max-width: 420px; width: 100%")
            box = stack()

    async def fill() -> None:
        box.clear()
        with box:
            await Rejects(viewer, choice.value).refresh()

    choice.on_value_change(fill)
    await fill()


class Rejects:
    """The rejects of one job, page by page."""

    def __init__(self, viewer: Viewer, job: str) -> None:
        words = self._words = viewer.words
        self._viewer, self._job = viewer, job
        self._rows: list[Reject] = []
        self._next: str | None = None
        self._table = tables.table(_columns(words), label=words("rejects.title"))
        self._none = ui.element("div")
        with bar().style("justify-content: center"):
            self._more = button(words("act.more"), self._load, icon="expand_more")
            self._more.set_visibility(False)

    async def refresh(self) -> None:
        """Show the first of them."""
        self._rows, self._next = [], None
        await self._load()

    async def _load(self) -> None:
        call = calls.job_rejects(self._job, after=self._next, limit=_AT_ONCE)
        answer = await self._viewer.read(call)
        if answer is None:
            return
        self._rows += answer.rejects
        self._next = answer.next
        tables.refill(self._table, (_row(row, self._words) for row in self._rows))
        self._more.set_visibility(self._next is not None)
        self._none.clear()
        if not self._rows:
            with self._none:
                empty(
                    self._words("rejects.none"), self._words("rejects.none_next"), icon="task_alt"
                )


def _columns(words: Words) -> list[tables.Column]:
    return [
        tables.Column("url", words("pages.page"), "link", flex=True),
        tables.Column("field", words("rejects.field")),
        tables.Column("rule", words("rejects.rule"), wide=True),
        tables.Column("reason", words("rejects.reason"), wide=True),
        tables.Column("at", words("pages.fetched"), wide=True),
    ]


def _row(reject: Reject, words: Words) -> tables.Cells:
    return (
        {"id": f"{reject.url} {reject.rule} {reject.field}"}
        | tables.link_cell("url", reject.url, address_of(reject.url, reject.job))
        | tables.cell("field", reject.field, title=reject.reason)
        | tables.cell("rule", reject.rule)
        | tables.cell("reason", reject.reason)
        | tables.time_cell("at", reject.fetched_at, words)
    )
