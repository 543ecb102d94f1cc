"""Pages: any address looked up, and the records of a job to browse."""

from nicegui import ui

from skitter.api.dashboard.explained import show_explained
from skitter.api.dashboard.parts import bar, button, empty, heading, panel, stack
from skitter.api.dashboard.records import Records, address_of
from skitter.api.dashboard.session import Viewer
from skitter.client.calls import jobs as job_calls
from skitter.client.calls import pages as calls


async def show(viewer: Viewer, url: str = "", job: str = "") -> None:
    """Draw the page."""
    words = viewer.words
    ui.page_title(f"{words('nav.pages')} · Skitter")
    with stack():
        heading(words("pages.title"))
        with panel():
            _look_up(viewer, url)
        if url:
            await _explain(viewer, url)
        else:
            await _browse(viewer, job)


def _look_up(viewer: Viewer, url: str) -> None:
    words = viewer.words

    def go() -> None:
        wanted = (field.value or "").strip()
        if wanted:
            ui.navigate.to(address_of(wanted))

    with bar():
        field = ui.input(words("pages.url"), value=url).classes("grow")
        field.props("outlined dense clearable data-find").on("keydown.enter", go)
        field.props["data-field"] = "look-up"
        button(words("pages.look"), go, icon="search", style="main")
    ui.label(words("pages.look_hint")).classes("soft small")


async def _explain(viewer: Viewer, url: str) -> None:
    words = viewer.words
    found = await viewer.find(calls.explain(url))
    if found is None:
        with panel():
            empty(words("pages.invalid"), words("pages.invalid_next"), icon="link_off")
    elif not found.known:
        with panel():
            empty(words("pages.unknown"), words("pages.unknown_next"), icon="travel_explore")
    else:
        show_explained(viewer, found)


async def _browse(viewer: Viewer, job: str) -> None:
    words = viewer.words
    answer = await viewer.read(job_calls.jobs(limit=500))
    names = [row.id for row in answer.jobs] if answer is not None else []
    with panel(words("pages.browse")):
        if not names:
            empty(words("jobs.none"), words("jobs.none_next"), icon="playlist_add")
            return
        chosen = job if job in names else names[0] if len(names) == 1 else None
        choice = ui.select(names, label=words("pages.job"), value=chosen, with_input=True)
        choice.props("outlined dense options-dense").style("max-width: 420px; width: 100%")
        box = stack()

    async def fill() -> None:
        box.clear()
        with box:
            if choice.value:
                await Records(viewer, choice.value).refresh()
            else:
                empty(words("pages.pick"), words("pages.pick_next"), icon="article")

    choice.on_value_change(fill)
    await fill()
