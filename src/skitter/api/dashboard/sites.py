"""Sites: what is set for them, who is blocked, which are one, and how they behave."""

from typing import Final

from nicegui import ui

from skitter.api.dashboard.parts import Bars, heading, panel, stack
from skitter.api.dashboard.session import Viewer
from skitter.api.dashboard.site_names import Aliases, Robots
from skitter.api.dashboard.site_settings import Blacklist, Effective, Settings
from skitter.client.base import Role
from skitter.client.calls import events as calls
from skitter.client.events import HostCount

_TABS: Final = ("settings", "blacklist", "aliases", "ranks", "robots")


async def show(viewer: Viewer) -> None:
    """Draw the page."""
    words = viewer.words
    ui.page_title(f"{words('nav.sites')} · Skitter")
    with stack():
        heading(words("sites.title"))
        with ui.tabs().props("align=left dense no-caps inline-label") as tabs:
            for name in _TABS:
                ui.tab(name, words(f"sites.{name}"))
        with ui.tab_panels(tabs, value="settings").props("animated=false"):
            with ui.tab_panel("settings"), stack():
                settings = Settings(viewer)
                Effective(viewer)
            with ui.tab_panel("blacklist"):
                blacklist = Blacklist(viewer)
            with ui.tab_panel("aliases"):
                aliases = Aliases(viewer)
            with ui.tab_panel("ranks"):
                ranks = ui.element("div").classes("two")
            with ui.tab_panel("robots"):
                if viewer.may(Role.OPERATOR):
                    Robots(viewer)
                else:
                    ui.label(words("error.role", role=words(f"role.{viewer.me.role}")))
    for part in (settings, blacklist, aliases):
        await part.refresh()
    await _ranks(viewer, ranks)


async def _ranks(viewer: Viewer, box: ui.element) -> None:
    words = viewer.words
    stats = await viewer.read(calls.stats())
    if stats is None:
        return
    with box:
        _rank(viewer, f"{words('sites.slowest')} ({words('sites.ms')})", stats.slowest_hosts)
        _rank(viewer, words("sites.linked"), stats.most_linked)
        _rank(viewer, words("sites.busiest"), stats.busiest_hosts)


def _rank(viewer: Viewer, title: str, hosts: list[HostCount]) -> None:
    with panel(title):
        rows = ((row.host, round(row.n)) for row in hosts[:15])
        Bars(viewer.words("nothing_yet")).set(rows)
