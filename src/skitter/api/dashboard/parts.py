"""Small parts that pages are put together from.

What comes from crawled pages is text here, never HTML, and never part of a string of properties,
which NiceGUI would read as instructions.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Final, NamedTuple

from nicegui import ui

from skitter.api.dashboard.format import NOTHING, ago, exact, number, web_address
from skitter.api.dashboard.i18n.words import Words

Act = Callable[[], Awaitable[None] | None]
OUTSIDE: Final = "noopener noreferrer nofollow"

TONES: Final = {
    **dict.fromkeys(("finished", "ok", "done"), "good"),
    **dict.fromkeys(("running", "leased", "pending", "joining"), "live"),
    **dict.fromkeys(("paused", "limited", "refused", "rejected", "stopping", "resting"), "warn"),
    **dict.fromkeys(("dropped", "blocked"), "warn"),
    **dict.fromkeys(("http_error", "failed", "silent", "dead", "away", "invalid"), "bad"),
}
"""How a state or an outcome is coloured; what is not here is plain."""


def heading(text: str, level: int = 1) -> ui.element:
    """Return a heading."""
    return _text(f"h{level}", text)


def _text(tag: str, text: str) -> ui.element:
    with ui.element(tag) as element:
        ui.label(text).style("display: contents")
    return element


def stack(classes: str = "") -> ui.element:
    """Return a column."""
    return ui.element("div").classes(f"stack {classes}")


def bar(classes: str = "") -> ui.element:
    """Return a row that wraps."""
    return ui.element("div").classes(f"bar {classes}")


def panel(title: str = "", classes: str = "") -> ui.element:
    """Return a framed part of a page."""
    with ui.element("section").classes(f"panel {classes}") as made:
        if title:
            with ui.element("div").classes("head"):
                heading(title, 2)
    return made


class Tiles:
    """A row of numbers with names, which change in place."""

    def __init__(self, names: Iterable[tuple[str, str]]) -> None:
        self._values: dict[str, tuple[ui.label, ui.label]] = {}
        with ui.element("div").classes("tiles"):
            for key, label in names:
                with ui.element("div").classes("tile") as tile:
                    tile.props["data-tile"] = key
                    ui.label(label).classes("label")
                    self._values[key] = (
                        ui.label(NOTHING).classes("value"),
                        ui.label().classes("hint"),
                    )

    def set(self, key: str, value: str, hint: str = "") -> None:
        """Show a value and what there is to say of it."""
        shown, below = self._values[key]
        shown.set_text(value)
        below.set_text(hint)


def badge(text: str, tone: str = "plain") -> ui.label:
    """Return a word in a coloured pill."""
    return ui.label(text).classes(f"badge t-{tone}")


def state_badge(state: str, words: Words) -> ui.label:
    """Return a state or an outcome as a pill."""
    return badge(words.known("state", state), TONES.get(state, "plain"))


def facts(rows: Iterable[tuple[str, str | None]]) -> None:
    """Show names and values, leaving out those that have none."""
    with ui.element("div").classes("facts"):
        for name, value in rows:
            if value not in (None, "", NOTHING):
                ui.label(name).classes("name")
                ui.label(value).classes("fact")


def outside(url: str, text: str | None = None) -> ui.element:
    """Return a link to a crawled page, or its address as mere text where it is none to follow."""
    address = web_address(url)
    if address is None:
        return ui.label(text or url).classes("wrap")
    link = ui.element("a").classes("wrap")
    link.props["href"] = address
    link.props["rel"] = OUTSIDE
    link.props["target"] = "_blank"
    with link:
        ui.label(text or url).style("display: contents")
    return link


def inside(text: str, address: str, classes: str = "") -> ui.element:
    """Return a link to another page of the dashboard."""
    link = ui.element("a").classes(classes)
    link.props["href"] = address
    with link:
        ui.label(text).style("display: contents")
    return link


def when(text: str | None, words: Words) -> ui.label:
    """Return a time as how long ago it was; the exact one shows on hover."""
    label = ui.label(ago(text, words))
    label.props["title"] = exact(text)
    return label


def button(
    text: str, act: Act | None = None, *, icon: str = "", style: str = "second"
) -> ui.button:
    """Return a button: main, second, quiet or danger."""
    made = ui.button(text, on_click=act, icon=icon or None, color=None)
    return made.props("flat no-caps").classes(style)


def icon_button(icon: str, tip: str, act: Act | None = None) -> ui.button:
    """Return a button that is an icon, with words for those who do not see it."""
    made = ui.button(icon=icon, on_click=act, color=None).props("flat no-caps").classes("quiet")
    made.props["aria-label"] = tip
    made.props["title"] = tip
    return made


def empty(what: str, then: str, *, icon: str = "inbox") -> ui.element:
    """Say that there is nothing, and what to do next; more can be put inside."""
    with ui.element("div").classes("empty") as made:
        ui.icon(icon)
        ui.label(what).classes("what")
        ui.label(then).classes("next")
    return made


def alarms(texts: Iterable[str]) -> None:
    """Show what an operator should look at."""
    for text in texts:
        with ui.element("div").classes("alarm"):
            ui.icon("warning_amber")
            ui.label(text)


class Bars:
    """Counts as bars, as long as their share of the largest; they change in place.

    What is drawn anew while somebody clicks on it is not clicked.
    """

    def __init__(
        self,
        none: str,
        tones: Callable[[str], str] | None = None,
        address: Callable[[str], str] | None = None,
    ) -> None:
        self._tones, self._address = tones, address
        self._rows: list[_Bar] = []
        self._shown: list[tuple[str, float]] | None = None
        self._none = ui.label(none).classes("faint")
        self._box = ui.element("div").classes("bars")

    def set(self, counts: Iterable[tuple[str, float]]) -> None:
        """Show these, in this order."""
        rows = list(counts)
        if rows == self._shown:
            return
        self._shown = rows
        largest = max((n for _, n in rows), default=0) or 1
        self._none.set_visibility(not rows)
        while len(self._rows) < len(rows):
            self._add()
        for at, row in enumerate(self._rows):
            row.show(visible=at < len(rows))
        for row, (name, n) in zip(self._rows, rows, strict=False):
            self._fill(row, name, n, largest)

    def _add(self) -> None:
        with self._box:
            with ui.element("a" if self._address else "div").classes("cut") as name:
                text = ui.label().style("display: contents")
            with ui.element("div").classes("track") as track:
                fill = ui.element("div").classes("fill")
            self._rows.append(_Bar(name, text, track, fill, ui.label().classes("num")))

    def _fill(self, row: "_Bar", name: str, n: float, largest: float) -> None:
        row.text.set_text(name)
        row.name.props["title"] = name
        if self._address is not None:
            row.name.props["href"] = self._address(name)
        row.fill.style(f"width: {100 * n / largest:.1f}%")
        if self._tones is not None:
            row.fill.classes(replace=f"fill t-{self._tones(name)}")
        row.number.set_text(number(n))


class _Bar(NamedTuple):
    name: ui.element
    text: ui.label
    track: ui.element
    fill: ui.element
    number: ui.label

    def show(self, *, visible: bool) -> None:
        for part in (self.name, self.track, self.number):
            part.set_visibility(visible)


class Changing:
    """A part of a page that is drawn anew only when what it shows has changed."""

    def __init__(self, classes: str = "stack tight") -> None:
        self._box = ui.element("div").classes(classes)
        self._shown: object = None

    def set(self, value: object, draw: Callable[[], object]) -> None:
        """Draw ``value``, if it is another than before."""
        if value == self._shown:
            return
        self._shown = value
        self._box.clear()
        with self._box:
            draw()


async def confirmed(question: str, yes: str, words: Words, *, danger: bool = True) -> bool:
    """Ask before something is done that cannot be taken back."""
    with ui.dialog() as dialog, ui.element("div").classes("panel"):
        ui.label(question).classes("wrap")
        with bar().style("justify-content: flex-end"):
            button(words("act.no"), lambda: dialog.submit(None), style="quiet")
            sure = button(yes, lambda: dialog.submit(True), style="danger" if danger else "main")
            sure.props("autofocus")
    answer = await dialog
    dialog.delete()
    return answer is True


def status_tone(code: str) -> str:
    """Return how a status code is coloured."""
    return {"2": "good", "3": "plain", "4": "warn", "5": "bad"}.get(code[:1], "bad")
