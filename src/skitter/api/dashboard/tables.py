"""Tables: columns are described once, rows are values with how they are shown beside them.

A cell's raw value (what it is sorted by) has the column's name; ``_text`` is what is shown,
``_href`` where it leads, ``_title`` what shows on hover, ``_tone`` its colour, ``_sub`` a second
line. One template draws every cell, and it draws text.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from nicegui import ui
from nicegui.events import GenericEventArguments

from skitter.api.dashboard.format import ago, exact, number, web_address
from skitter.api.dashboard.i18n.words import Words
from skitter.api.dashboard.parts import OUTSIDE, TONES

Cells = dict[str, Any]
Kind = Literal["text", "number", "link", "outside", "badge", "action"]

_CELL: Final = f"""
<q-td :props="props" :class="{{'flex-cell': props.col.flex}}">
  <a v-if="props.col.kind === 'link' && props.row[props.col.name + '_href']"
     :href="props.row[props.col.name + '_href']" :title="props.row[props.col.name + '_title']"
     >{{{{ props.row[props.col.name + '_text'] }}}}</a>
  <a v-else-if="props.col.kind === 'outside' && props.row[props.col.name + '_href']"
     :href="props.row[props.col.name + '_href']" :title="props.row[props.col.name + '_title']"
     target="_blank" rel="{OUTSIDE}">{{{{ props.row[props.col.name + '_text'] }}}}</a>
  <span v-else-if="props.col.kind === 'badge' && props.row[props.col.name + '_text']"
     :class="'badge t-' + props.row[props.col.name + '_tone']"
     :title="props.row[props.col.name + '_title']"
     >{{{{ props.row[props.col.name + '_text'] }}}}</span>
  <q-btn v-else-if="props.col.kind === 'action' && props.row[props.col.name + '_text']"
     flat dense no-caps class="quiet" :label="props.row[props.col.name + '_text']"
     @click="$parent.$emit('act', props.col.name, props.row[props.col.name])"></q-btn>
  <span v-else :title="props.row[props.col.name + '_title']"
     >{{{{ props.row[props.col.name + '_text'] }}}}</span>
  <span v-if="props.row[props.col.name + '_sub']" class="sub"
     :title="props.row[props.col.name + '_sub']"
     >{{{{ props.row[props.col.name + '_sub'] }}}}</span>
</q-td>
"""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    name: str
    label: str
    kind: Kind = "text"
    wide: bool = False
    """Left out on narrow screens."""
    flex: bool = False
    """Takes what room the others leave, and is cut there."""

    def definition(self) -> dict[str, Any]:
        """Return the column as the table wants it."""
        return {
            "name": self.name,
            "label": self.label,
            "field": self.name,
            "align": "right" if self.kind == "number" else "left",
            "sortable": self.kind != "action",
            "kind": self.kind,
            "flex": self.flex,
            "classes": "wide" if self.wide else "",
            "headerClasses": "wide" if self.wide else "",
        }


def table(
    columns: Sequence[Column], rows: Iterable[Cells] = (), *, key: str = "id", label: str = ""
) -> ui.table:
    """Return a table of all its rows; one without any does not show."""
    made = ui.table(
        columns=[column.definition() for column in columns],
        rows=list(rows),
        row_key=key,
        pagination={"rowsPerPage": 0},
    )
    made.props("flat dense hide-bottom binary-state-sort").classes("grid-table")
    made.props["aria-label"] = label
    made.add_slot("body-cell", _CELL)
    made.set_visibility(bool(made.rows))
    return made


def on_act(shown: ui.table, act: Callable[[str, str], Awaitable[None]]) -> None:
    """Have ``act`` done with the column and the value of a button that is pressed."""

    async def pressed(event: GenericEventArguments) -> None:
        column, value = event.args
        await act(str(column), str(value))

    shown.on("act", pressed)


def refill(shown: ui.table, rows: Iterable[Cells]) -> None:
    """Put other rows into a table, which shows if it has any; the same are not sent again."""
    given = list(rows)
    shown.set_visibility(bool(given))
    if shown.rows != given:
        shown.rows = given
        shown.update()


def cell(
    name: str, value: object, text: str | None = None, *, title: str = "", sub: str = ""
) -> Cells:
    """Return a cell of text."""
    shown = str(value if value is not None else "") if text is None else text
    return {name: value, f"{name}_text": shown, f"{name}_title": title, f"{name}_sub": sub}


def number_cell(name: str, value: float | None, digits: int = 0) -> Cells:
    """Return a cell with a number."""
    return cell(name, value, number(value, digits))


def link_cell(name: str, text: str, address: str, *, sub: str = "") -> Cells:
    """Return a cell that leads to another page of the dashboard."""
    return {**cell(name, text, title=text, sub=sub), f"{name}_href": address}


def outside_cell(name: str, url: str | None, text: str | None = None, *, sub: str = "") -> Cells:
    """Return a cell that leads to a crawled page if that is an address of the web."""
    made = cell(name, url or "", text or url or "", title=url or "", sub=sub)
    return {**made, f"{name}_href": web_address(url)}


def badge_cell(name: str, state: str, words: Words, *, title: str = "") -> Cells:
    """Return a cell with a state."""
    made = cell(name, state, words.known("state", state) if state else "", title=title)
    return {**made, f"{name}_tone": TONES.get(state, "plain")}


def time_cell(name: str, text: str | None, words: Words) -> Cells:
    """Return a cell with a time: how long ago, the exact one on hover."""
    return cell(name, text or "", ago(text, words), title=exact(text))
