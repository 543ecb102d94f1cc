"""What is set for sites: the table, the form, the blacklist, and what counts in the end."""

from typing import Any, Final

from nicegui import ui

from skitter.api.dashboard import tables
from skitter.api.dashboard.parts import bar, button, confirmed, empty, panel
from skitter.api.dashboard.session import Viewer
from skitter.api.dashboard.trial import value_text
from skitter.client.base import Role
from skitter.client.calls import sites as calls
from skitter.client.nodes import SettingRow

KEYS: Final = ("delay", "per_host", "rate", "depth", "agent")
"""What the form offers; the command line knows a few more."""
BLACKLIST: Final = "blacklist"


class Settings:
    """The table of settings, and the form that changes them."""

    def __init__(self, viewer: Viewer) -> None:
        words = self._words = viewer.words
        self._viewer, self._rows = viewer, list[SettingRow]()
        may = viewer.may(Role.OPERATOR)
        columns = [
            tables.Column("pattern", words("sites.pattern"), flex=True),
            tables.Column("by", words("sites.by"), wide=True),
            tables.Column("changed", words("sites.changed"), wide=True),
            *([tables.Column("remove", "", "action")] if may else []),
        ]
        with panel(words("sites.settings")):
            self._table = tables.table(columns, label=words("sites.settings"))
            tables.on_act(self._table, self._remove)
            self._none = ui.element("div")
        if may:
            self._form()

    def _form(self) -> None:
        words = self._words
        with panel(words("sites.add")):
            with ui.element("div").classes("form"):
                self._pattern = self._input("pattern", "half")
                self._pattern.props["hint"] = words("sites.pattern_hint")
                self._values = {key: self._input(key, _WIDTHS[key]) for key in KEYS}
            with bar():
                button(words("act.save"), self._save, style="main")

    def _input(self, name: str, classes: str) -> ui.input:
        made = ui.input(self._words(f"sites.{name}")).classes(classes)
        made.props["data-field"] = name
        return made.props("outlined dense stack-label")

    async def refresh(self) -> None:
        """Ask what is set, and show it."""
        answer = await self._viewer.read(calls.settings())
        if answer is None:
            return
        self._rows = answer.settings
        tables.refill(self._table, (self._row(row) for row in answer.settings))
        self._none.clear()
        if not answer.settings:
            with self._none:
                empty(self._words("sites.none"), self._words("sites.none_next"), icon="tune")

    def _row(self, row: SettingRow) -> tables.Cells:
        words = self._words
        values = ", ".join(f"{key} = {value_text(value)}" for key, value in row.settings.items())
        return (
            tables.cell("pattern", row.pattern, title=values, sub=values)
            | tables.cell("by", row.changed_by)
            | tables.time_cell("changed", row.changed_at, words)
            | tables.cell("remove", row.pattern, words("act.remove"))
            | {"id": row.pattern}
        )

    async def _save(self) -> None:
        pattern = (self._pattern.value or "").strip()
        given = {key: (field.value or "").strip() for key, field in self._values.items()}
        values: dict[str, Any] = {key: typed(key, text) for key, text in given.items() if text}
        if not pattern or not values:
            self._pattern.error = None if pattern else self._words("sites.pattern_hint")
            return
        self._pattern.error = None
        call = calls.set_setting(pattern, values)
        if await self._viewer.do(call, self._words("sites.saved")) is not None:
            for field in (self._pattern, *self._values.values()):
                field.value = ""
            await self.refresh()

    async def _remove(self, _: str, pattern: str) -> None:
        words = self._words
        question = words("sites.ask_remove", pattern=pattern)
        if await confirmed(question, words("act.remove"), words):
            await self._viewer.do(calls.unset_setting(pattern), words("sites.removed"))
            await self.refresh()


class Blacklist:
    """Sites that are never asked for anything."""

    def __init__(self, viewer: Viewer) -> None:
        words = self._words = viewer.words
        self._viewer = viewer
        may = viewer.may(Role.OPERATOR)
        with panel(words("sites.blacklist")):
            if may:
                with bar():
                    self._host = ui.input(words("sites.block_host")).classes("grow")
                    self._host.props("outlined dense").on("keydown.enter", self._block)
                    self._host.props["data-field"] = "block"
                    button(words("sites.block_act"), self._block, icon="block", style="danger")
            columns = [
                tables.Column("pattern", words("sites.pattern"), flex=True),
                tables.Column("changed", words("sites.changed")),
                *([tables.Column("undo", "", "action")] if may else []),
            ]
            self._table = tables.table(columns, label=words("sites.blacklist"))
            tables.on_act(self._table, self._unblock)
            self._none = ui.element("div")

    async def refresh(self) -> None:
        """Ask who is blocked, and show it."""
        words = self._words
        answer = await self._viewer.read(calls.settings())
        if answer is None:
            return
        rows = [row for row in answer.settings if row.settings.get(BLACKLIST)]
        tables.refill(
            self._table,
            (
                {"id": row.pattern}
                | tables.cell("pattern", row.pattern)
                | tables.time_cell("changed", row.changed_at, words)
                | tables.cell("undo", row.pattern, words("sites.unblock"))
                for row in rows
            ),
        )
        self._none.clear()
        if not rows:
            with self._none:
                empty(words("sites.no_black"), words("sites.no_black_next"), icon="verified_user")

    async def _block(self) -> None:
        host = (self._host.value or "").strip()
        if not host:
            return
        call = calls.set_setting(host, {BLACKLIST: True})
        if await self._viewer.do(call, self._words("sites.blocked", host=host)) is not None:
            self._host.value = ""
        await self.refresh()

    async def _unblock(self, _: str, pattern: str) -> None:
        call = calls.unset_setting(pattern, [BLACKLIST])
        await self._viewer.do(call, self._words("sites.removed"))
        await self.refresh()


class Effective:
    """What counts for one host, and where it is said."""

    def __init__(self, viewer: Viewer) -> None:
        words = self._words = viewer.words
        self._viewer = viewer
        with panel(words("sites.effective")):
            with bar():
                self._host = ui.input(words("sites.alias")).classes("grow")
                self._host.props("outlined dense").on("keydown.enter", self._check)
                self._host.props["data-field"] = "effective"
                button(words("sites.check"), self._check, icon="search")
            columns = [
                tables.Column("key", words("rejects.field")),
                tables.Column("value", words("sites.value"), flex=True),
                tables.Column("at", words("sites.said_at"), flex=True),
            ]
            self._table = tables.table(columns, key="key", label=words("sites.effective"))

    async def _check(self) -> None:
        host = (self._host.value or "").strip()
        if not host or (answer := await self._viewer.do(calls.setting(host))) is None:
            return
        tables.refill(self._table, (_effective(*item) for item in answer.settings.items()))


_WIDTHS: Final = {
    "delay": "quarter",
    "per_host": "quarter",
    "rate": "third",
    "depth": "third",
    "agent": "third",
}


def typed(key: str, text: str) -> object:
    """Return what was typed as the value it is; the service says what is wrong with it."""
    kinds = {"delay": float, "per_host": int, "depth": int}
    try:
        return kinds[key](text) if key in kinds else text
    except ValueError:
        return text


def _effective(key: str, told: dict[str, Any]) -> tables.Cells:
    said = next((value for name, value in told.items() if name != "value"), "")
    return (
        tables.cell("key", key)
        | tables.cell("value", value_text(told.get("value")))
        | tables.cell("at", value_text(said))
    )
