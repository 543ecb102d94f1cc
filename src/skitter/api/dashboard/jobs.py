"""Jobs: all of them, with filters, and the way to a new one."""

from nicegui import ui

from skitter.api.dashboard import tables
from skitter.api.dashboard.format import part_of_path
from skitter.api.dashboard.i18n.words import Words
from skitter.api.dashboard.job_limits import shown_state
from skitter.api.dashboard.parts import Changing, bar, button, empty, heading, panel, stack
from skitter.api.dashboard.session import Viewer
from skitter.client.base import Role
from skitter.client.calls import jobs as calls
from skitter.client.jobs import JobRow

_EVERY_S = 3.0
_AT_ONCE = 100
_MOST = 1000
STATES = ("running", "waiting", "paused", "finished", "cancelled")
KINDS = ("news", "site", "list", "web", "resolve")


async def show(viewer: Viewer) -> None:
    """Draw the page."""
    page = Jobs(viewer)
    await page.refresh()
    ui.timer(_EVERY_S, page.refresh, immediate=False)


class Jobs:
    """The list and its filters."""

    def __init__(self, viewer: Viewer) -> None:
        words = self._words = viewer.words
        self._viewer = viewer
        self._limit = _AT_ONCE
        ui.page_title(f"{words('nav.jobs')} · Skitter")
        with stack():
            with bar():
                heading(words("nav.jobs")).classes("grow")
                if viewer.may(Role.OPERATOR):
                    new_job_button(words)
            with panel():
                self._filters()
                self._table = tables.table(columns(words), label=words("nav.jobs"))
                self._none = Changing("stack")
                with bar().style("justify-content: center"):
                    self._more = button(words("act.more"), self._show_more, icon="expand_more")
                    self._more.set_visibility(False)

    def _filters(self) -> None:
        words = self._words
        with bar():
            self._find = ui.input(placeholder=words("jobs.find"), on_change=self.refresh)
            self._find.props("outlined dense clearable data-find debounce=250").classes("grow")
            self._state = _choice(words, "jobs.state", "state", STATES).on_value_change(
                self.refresh
            )
            self._kind = _choice(words, "jobs.kind", "kind", KINDS).on_value_change(self.refresh)

    async def refresh(self) -> None:
        """Ask for the jobs, and show those that are wanted."""
        answer = await self._viewer.read(
            calls.jobs(state=self._state.value, kind=self._kind.value, limit=self._limit)
        )
        if answer is None:
            return
        wanted = (self._find.value or "").lower()
        rows = [job for job in answer.jobs if wanted in f"{job.id} {job.owner}".lower()]
        tables.refill(self._table, (row_of(job, self._words) for job in rows))
        self._more.set_visibility(answer.next is not None and self._limit < _MOST)
        self._say_none(found=bool(rows))

    async def _show_more(self) -> None:
        self._limit = min(self._limit + _AT_ONCE, _MOST)
        await self.refresh()

    def _say_none(self, *, found: bool) -> None:
        filtered = bool(self._find.value or self._state.value or self._kind.value)
        said = "" if found else "jobs.no_match" if filtered else "jobs.none"
        self._none.set(said, lambda: self._draw_none(said))

    def _draw_none(self, said: str) -> None:
        words = self._words
        if not said:
            return
        with empty(words(said), words(f"{said}_next"), icon="playlist_add"):
            if said == "jobs.none" and self._viewer.may(Role.OPERATOR):
                new_job_button(words)


def new_job_button(words: Words) -> ui.button:
    """Return the button that leads to the form."""
    made = button(words("jobs.new"), lambda: ui.navigate.to("/jobs/new"), icon="add", style="main")
    return made.props("data-new")


def address_of_job(job: str) -> str:
    """Return the address of the page of a job."""
    return f"/jobs/{part_of_path(job)}"


def columns(words: Words) -> list[tables.Column]:
    """Return the columns of a list of jobs."""
    return [
        tables.Column("id", words("jobs.id"), "link", flex=True),
        tables.Column("state", words("jobs.state"), "badge"),
        tables.Column("kind", words("jobs.kind"), wide=True),
        tables.Column("owner", words("jobs.owner"), wide=True),
        tables.Column("priority", words("jobs.priority"), "number", wide=True),
        tables.Column("pages", words("jobs.pages"), "number"),
        tables.Column("failed", words("jobs.failed"), "number", wide=True),
        tables.Column("queued", words("jobs.queued"), "number"),
    ]


def row_of(job: JobRow, words: Words) -> tables.Cells:
    """Return a job as a row."""
    return (
        tables.link_cell("id", job.id, address_of_job(job.id))
        | tables.badge_cell("state", shown_state(job), words, title=job.stopped_by)
        | tables.cell("kind", job.kind, words.known("kind", job.kind))
        | tables.cell("owner", job.owner)
        | tables.number_cell("priority", job.priority)
        | tables.number_cell("pages", job.pages)
        | tables.number_cell("failed", job.failed)
        | tables.number_cell("queued", job.queued + job.leased)
    )


def _choice(words: Words, label: str, prefix: str, values: tuple[str, ...]) -> ui.select:
    options = {value: words.known(prefix, value) for value in values}
    made = ui.select(options, label=words(label), clearable=True)
    return made.props("outlined dense options-dense").style("min-width: 130px")
