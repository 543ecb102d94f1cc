"""Sites under several names, and what sites say in robots.txt."""

from nicegui import ui

from skitter.api.dashboard import tables
from skitter.api.dashboard.parts import bar, button, confirmed, empty, panel
from skitter.api.dashboard.session import Viewer
from skitter.client.base import Role
from skitter.client.calls import pages as page_calls
from skitter.client.calls import sites as calls
from skitter.client.nodes import AliasRow
from skitter.client.pages import Fetched
from skitter.politeness.robots_reply import Access, RobotsReply


class Aliases:
    """Hosts that turned out to be another name of a site."""

    def __init__(self, viewer: Viewer) -> None:
        words = self._words = viewer.words
        self._viewer = viewer
        may = viewer.may(Role.OPERATOR)
        columns = [
            tables.Column("alias", words("sites.alias"), flex=True),
            tables.Column("site", words("sites.is_site"), flex=True),
            tables.Column("job", words("jobs.id"), wide=True),
            *([tables.Column("undo", "", "action")] if may else []),
        ]
        with panel(words("sites.aliases")):
            self._table = tables.table(columns, label=words("sites.aliases"))
            tables.on_act(self._table, self._undo)
            self._none = ui.element("div")

    async def refresh(self) -> None:
        """Ask for the aliases, and show them."""
        answer = await self._viewer.read(calls.aliases())
        if answer is None:
            return
        tables.refill(self._table, (self._row(row) for row in answer.aliases))
        self._none.clear()
        if not answer.aliases:
            with self._none:
                empty(self._words("sites.no_alias"), self._words("sites.no_alias_next"), icon="hub")

    def _row(self, row: AliasRow) -> tables.Cells:
        key = f"{row.job}/{row.alias}"
        return (
            {"id": key}
            | tables.cell("alias", row.alias)
            | tables.cell(
                "site", row.site, sub="" if row.in_force else self._words("sites.was_undone")
            )
            | tables.cell("job", row.job)
            | tables.cell("undo", key, self._words("sites.undo") if row.in_force else "")
        )

    async def _undo(self, _: str, key: str) -> None:
        words = self._words
        job, _, alias = key.partition("/")
        if not await confirmed(words("sites.ask_undo", alias=alias), words("sites.undo"), words):
            return
        answer = await self._viewer.do(calls.undo_alias(alias, job=job))
        if answer is not None:
            said = words("sites.undone", alias=answer.alias, n=f"{answer.queued:,}")
            ui.notify(said, type="positive", position="top")
        await self.refresh()


class Robots:
    """The robots.txt of a site, fetched as crawls do."""

    def __init__(self, viewer: Viewer) -> None:
        words = self._words = viewer.words
        self._viewer = viewer
        with panel(words("sites.robots")):
            ui.label(words("sites.robots_hint")).classes("soft small")
            with bar():
                self._host = ui.input(words("sites.alias")).classes("grow")
                self._host.props("outlined dense").on("keydown.enter", self._look)
                self._host.props["data-field"] = "robots"
                button(words("sites.check"), self._look, icon="search")
            with ui.element("pre").classes("log") as self._box:
                self._text = ui.label().style("display: contents")
            self._box.set_visibility(False)

    async def _look(self) -> None:
        typed = (self._host.value or "").strip().rstrip("/")
        if not typed:
            return
        url = typed if "://" in typed else f"https://{typed}"
        answer = await self._viewer.do(page_calls.fetch(f"{url}/robots.txt", body=True))
        if answer is None:
            return
        self._text.set_text(self._told(answer))
        self._box.set_visibility(True)

    def _told(self, answer: Fetched) -> str:
        """Return the rules; without any, what crawls make of the answer."""
        status = answer.status
        if 200 <= status < 300 and answer.body:
            return answer.body
        closed = RobotsReply(status=status).access is Access.CLOSED
        return self._words("sites.robots_closed" if closed else "sites.robots_none", status=status)
