"""The records of a job: filtered, page by page."""

from typing import Any
from urllib.parse import urlencode

from nicegui import ui

from skitter.api.dashboard import tables
from skitter.api.dashboard.format import number, shorten, size
from skitter.api.dashboard.i18n.words import Words
from skitter.api.dashboard.parts import bar, button, empty, inside
from skitter.api.dashboard.session import Viewer
from skitter.client.calls import jobs as calls
from skitter.client.jobs import PageRow

OUTCOMES = (
    "ok",
    "http_error",
    "failed",
    "refused",
    "duplicate",
    "noindex",
    "skipped",
    "rejected",
)
_AT_ONCE = 50


def address_of(url: str, job: str | None = None) -> str:
    """Return the address of the page that tells everything about a URL."""
    asked = {"url": url} | ({} if job is None else {"job": job})
    return f"/pages?{urlencode(asked)}"


def columns(words: Words) -> list[tables.Column]:
    """Return the columns of a list of records."""
    return [
        tables.Column("page", words("pages.page"), "link", flex=True),
        tables.Column("outcome", words("pages.outcome"), "badge"),
        tables.Column("status", words("pages.status"), "number", wide=True),
        tables.Column("size", words("pages.size"), "number", wide=True),
        tables.Column("took", words("pages.took"), "number", wide=True),
        tables.Column("fetched", words("pages.fetched")),
    ]


def row_of(page: PageRow, words: Words) -> tables.Cells:
    """Return a record as a row."""
    title = shorten(page.title) or page.url
    took = None if page.elapsed_ms is None else f"{number(page.elapsed_ms)} ms"
    return (
        {"id": f"{page.url} {page.visit}"}
        | tables.link_cell("page", title, address_of(page.url, page.job), sub=page.url)
        | tables.badge_cell("outcome", page.outcome, words, title=page.error or "")
        | tables.cell("status", page.status, str(page.status or ""))
        | tables.cell("size", page.bytes, size(page.bytes))
        | tables.cell("took", page.elapsed_ms, took)
        | tables.time_cell("fetched", page.fetched_at, words)
    )


def _code(text: str | None) -> str:
    """Return what may be a status code; nothing while it is being typed."""
    code = (text or "").strip()
    return code if code.isdecimal() and len(code) == 3 else ""


class Records:
    """A list of the records of one job, and its filters."""

    def __init__(self, viewer: Viewer, job: str) -> None:
        words = self._words = viewer.words
        self._viewer, self._job = viewer, job
        self._rows: list[PageRow] = []
        self._next: str | None = None
        self._filters()
        self._table = tables.table(columns(words), label=words("pages.browse"))
        self._none = ui.element("div")
        with bar().style("justify-content: center"):
            self._more = button(words("act.more"), self._load_more, icon="expand_more")
            self._more.set_visibility(False)

    def _filters(self) -> None:
        words = self._words
        with bar():
            self._text = self._field("pages.find", "grow").props("data-find")
            self._host = self._field("pages.host", "only-wide")
            self._status = self._field("pages.status", "only-wide").style("width: 100px")
            outcomes = {one: words.known("state", one) for one in OUTCOMES}
            self._outcome = ui.select(outcomes, label=words("pages.outcome"), clearable=True)
            self._outcome.props("outlined dense options-dense").style("min-width: 140px")
            self._outcome.on_value_change(self.refresh)
            with inside(words("job.export"), f"/download/{self._job}.csv", "small") as link:
                link.props("download")

    def _field(self, label: str, classes: str) -> ui.input:
        made = ui.input(self._words(label), on_change=self.refresh).classes(classes)
        return made.props("outlined dense clearable debounce=300")

    def _wanted(self) -> dict[str, Any]:
        values = {
            "q": self._text.value,
            "host": self._host.value,
            "status": _code(self._status.value),
            "outcome": self._outcome.value,
        }
        return {name: value.strip() for name, value in values.items() if value and value.strip()}

    async def refresh(self) -> None:
        """Show the first records that fit the filters."""
        self._rows, self._next = [], None
        await self._load()

    async def _load_more(self) -> None:
        await self._load()

    async def _load(self) -> None:
        call = calls.job_pages(self._job, after=self._next, limit=_AT_ONCE, **self._wanted())
        answer = await self._viewer.read(call)
        if answer is None:
            return
        self._rows += answer.pages
        self._next = answer.next
        tables.refill(self._table, (row_of(row, self._words) for row in self._rows))
        self._more.set_visibility(self._next is not None)
        self._none.clear()
        if not self._rows:
            with self._none:
                empty(
                    self._words("pages.none"), self._words("pages.none_next"), icon="find_in_page"
                )
