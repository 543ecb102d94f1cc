"""The frame around every page: navigation, the bar at the top, and help for the keyboard."""

from typing import Final

from nicegui import context, ui

from skitter.api.dashboard.i18n.words import NAMES
from skitter.api.dashboard.parts import bar, button, heading, icon_button
from skitter.api.dashboard.session import Viewer

PLACES: Final = (
    ("overview", "/", "insights", "o"),
    ("jobs", "/jobs", "playlist_play", "j"),
    ("pages", "/pages", "article", "p"),
    ("rejects", "/rejects", "block", "r"),
    ("nodes", "/nodes", "dns", "n"),
    ("sites", "/sites", "public", "s"),
    ("live", "/live", "bolt", "l"),
)
"""Name, address, icon, and the key that goes there after g."""
_KEYS: Final = (("/", "keys.find"), ("n", "keys.new"), ("t", "keys.theme"), ("?", "keys.help"))


def frame(viewer: Viewer) -> ui.element:
    """Draw the frame; return the element that pages are drawn in."""
    words = viewer.words
    # NiceGUI's own would have the navigation in it.
    ui.query("main.q-page").props('role="none"')
    with ui.element("div").classes("shell"):
        links = _navigation(viewer)
        _top(viewer)
        viewer.place_for_trouble()
        main = ui.element("main").classes("page").props('tabindex="-1"')
    ui.skip_link(words("skip"), target=main)
    _follow(links)
    return main


def place_of(path: str) -> str:
    """Return the address of the place a path belongs to."""
    first = path.partition("?")[0].strip("/").partition("/")[0]
    return f"/{first}"


def _navigation(viewer: Viewer) -> dict[str, ui.element]:
    words = viewer.words
    links = {}
    with ui.element("nav").classes("side") as nav:
        nav.props["aria-label"] = words("nav.label")
        with ui.element("a").classes("brand").props('href="/"'):
            ui.element("img").classes("mark").props('src="/_skitter/mark.svg" alt=""')
            ui.label("Skitter")
        for name, address, icon, key in PLACES:
            links[address] = _item(words(f"nav.{name}"), address, icon, key)
        with ui.element("div").classes("foot"):
            ui.label(words(f"role.{viewer.me.role}"))
            ui.label(f"{viewer.me.version} · {viewer.me.store}")
    return links


def _item(text: str, address: str, icon: str, key: str) -> ui.element:
    with ui.element("a").classes("item") as link:
        link.props["href"] = address
        link.props["data-go"] = key
        ui.icon(icon)
        ui.label(text)
        ui.label(f"g {key}").classes("key").props('aria-hidden="true"')
    return link


def _follow(links: dict[str, ui.element]) -> None:
    """Mark the link of the place that is shown, also when another one is gone to."""

    def mark(path: str) -> None:
        here = place_of(path)
        for address, link in links.items():
            link.classes(add="here") if address == here else link.classes(remove="here")
            link.props["aria-current"] = "page" if address == here else "false"

    router = context.client.sub_pages_router
    mark(router.current_path)
    router.on_path_changed(mark)


def _top(viewer: Viewer) -> None:
    words = viewer.words
    with ui.element("header").classes("topbar"):
        ui.element("div").classes("grow")
        other = "zh" if words.language == "en" else "en"
        switch = button(NAMES[other], style="quiet")
        switch.props["lang"] = other
        switch.on("click", js_handler=f"() => skitter.setLanguage('{other}')")
        theme = icon_button("contrast", words("theme"))
        theme.on("click", js_handler="() => skitter.toggleTheme()")
        helping = icon_button("keyboard", words("keys.title"), lambda: _help(viewer))
        helping.props("data-help").classes("only-wide")
        leave = icon_button("logout", words("logout"))
        leave.on("click", js_handler="() => skitter.leave()")


def _help(viewer: Viewer) -> None:
    words = viewer.words
    with ui.dialog() as dialog, ui.element("div").classes("panel"):
        heading(words("keys.title"), 2)
        with ui.element("div").classes("facts"):
            for name, _, _, key in PLACES:
                _key_line(f"g {key}", words("keys.go", place=words(f"nav.{name}")))
            for key, meaning in _KEYS:
                _key_line(key, words(meaning))
        with bar().style("justify-content: flex-end"):
            button(words("act.close"), dialog.close, style="quiet").props("autofocus")
    dialog.on("hide", dialog.delete)
    dialog.open()


def _key_line(keys: str, meaning: str) -> None:
    with ui.element("div").classes("name"):
        for key in keys.split():
            with ui.element("kbd"):
                ui.label(key).style("display: contents")
    ui.label(meaning).classes("fact")
