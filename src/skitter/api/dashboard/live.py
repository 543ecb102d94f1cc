"""Live: pages as they are fetched."""

from collections import deque
from contextlib import aclosing
from typing import Final

from nicegui import ui

from skitter.api.dashboard import tables
from skitter.api.dashboard.format import moment, number, shorten
from skitter.api.dashboard.i18n.words import Words
from skitter.api.dashboard.parts import bar, button, empty, heading, panel, stack
from skitter.api.dashboard.records import OUTCOMES, address_of
from skitter.api.dashboard.session import Viewer
from skitter.client.calls import events as calls
from skitter.client.events import Event
from skitter.errors import ApiError

_SHOWN: Final = 100
_EVERY_S: Final = 0.7


async def show(viewer: Viewer) -> None:
    """Draw the page, and listen until it is left."""
    page = Live(viewer)
    ui.timer(_EVERY_S, page.draw)
    await page.listen()


class Live:
    """What has come, newest first, and what of it is wanted."""

    def __init__(self, viewer: Viewer) -> None:
        words = self._words = viewer.words
        self._viewer = viewer
        self._came: deque[tuple[int, Event]] = deque(maxlen=_SHOWN * 5)
        self._count = self._left_out = 0
        self._running = self._changed = True
        ui.page_title(f"{words('nav.live')} · Skitter")
        with stack():
            with bar():
                heading(words("live.title")).classes("grow")
                self._pause = button(words("live.pause"), self._toggle, icon="pause")
                button(words("live.clear"), self._clear, icon="clear_all", style="quiet")
            ui.label(words("live.hint")).classes("soft")
            with panel():
                self._filters()
                self._table = tables.table(_columns(words), label=words("live.title"))
                self._said = ui.label().classes("faint small")
                self._none = empty(words("live.waiting"), words("live.waiting_next"), icon="bolt")

    def _filters(self) -> None:
        words = self._words
        with bar():
            self._text = ui.input(words("live.filter"), on_change=self._filter).classes("grow")
            self._text.props("outlined dense clearable data-find debounce=250")
            outcomes = {one: words.known("state", one) for one in OUTCOMES}
            self._outcome = ui.select(outcomes, label=words("pages.outcome"), clearable=True)
            self._outcome.props("outlined dense options-dense").style("min-width: 140px")
            self._outcome.on_value_change(self._filter)

    async def listen(self) -> None:
        """Take in what happens; the client comes back by itself after a break."""
        while True:
            try:
                async with aclosing(self._viewer.api.hear(calls.events(types=["page"]))) as heard:
                    async for event in heard:
                        self._take(event)
            except ApiError as error:
                self._viewer.say_lost(error)
                if error.status in (401, 403):
                    return

    def _take(self, event: Event) -> None:
        self._left_out += event.dropped
        self._count += 1
        self._came.appendleft((self._count, event))
        self._changed = True

    def _toggle(self) -> None:
        self._running = not self._running
        self._pause.set_text(self._words("live.pause" if self._running else "live.go"))
        self._pause.set_icon("pause" if self._running else "play_arrow")
        self._changed = True

    def _clear(self) -> None:
        self._came.clear()
        self._left_out = 0
        self._filter()

    def _filter(self) -> None:
        self._redraw()

    def draw(self) -> None:
        """Show what is new, unless somebody reads."""
        if self._running and self._changed:
            self._redraw()

    def _redraw(self) -> None:
        self._changed = False
        wanted, outcome = (self._text.value or "").lower(), self._outcome.value
        fitting = [(n, event) for n, event in self._came if _fits(event, wanted, outcome)][:_SHOWN]
        tables.refill(self._table, (_row(n, event, self._words) for n, event in fitting))
        self._none.set_visibility(not fitting)
        said = self._words("live.shown", n=number(len(fitting)))
        if self._left_out:
            said += " · " + self._words("live.skipped", n=number(self._left_out))
        self._said.set_text(said if fitting else "")


def _fits(event: Event, wanted: str, outcome: str | None) -> bool:
    if outcome and event.outcome != outcome:
        return False
    return wanted in f"{event.url} {event.title} {event.host} {event.job}".lower()


def _columns(words: Words) -> list[tables.Column]:
    return [
        tables.Column("at", words("live.at")),
        tables.Column("page", words("pages.page"), "link", flex=True),
        tables.Column("outcome", words("pages.outcome"), "badge"),
        tables.Column("status", words("pages.status"), "number", wide=True),
        tables.Column("job", words("jobs.id"), wide=True),
        tables.Column("node", words("nodes.node"), wide=True),
        tables.Column("took", words("pages.took"), "number", wide=True),
    ]


def _row(n: int, event: Event, words: Words) -> tables.Cells:
    at, url = moment(event.at), event.url or ""
    took = "" if event.elapsed_ms is None else f"{event.elapsed_ms:,} ms"
    address = address_of(url, event.job) if url else ""
    return (
        {"id": str(n)}
        | tables.cell("at", n, at.strftime("%H:%M:%S") if at else event.at, title=event.at)
        | tables.link_cell("page", shorten(event.title) or url, address, sub=url)
        | tables.badge_cell("outcome", event.outcome or "", words, title=event.message)
        | tables.cell("status", event.status, str(event.status or ""))
        | tables.cell("job", event.job or "")
        | tables.cell("node", event.node or "")
        | tables.cell("took", event.elapsed_ms, took)
    )
