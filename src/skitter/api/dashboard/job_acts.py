"""What can be done with a job: pause, resume, cancel, clear, delete, other limits."""

from collections.abc import Awaitable, Callable
from typing import Literal

from nicegui import ui

from skitter.api.dashboard.parts import bar, button, confirmed, facts, icon_button
from skitter.api.dashboard.session import Viewer
from skitter.client.base import Role
from skitter.client.calls import jobs as calls
from skitter.client.jobs import JobChange, JobDetail

Again = Callable[[], Awaitable[None]]
_LIVE = ("running", "waiting")
_ENDED = ("finished", "cancelled")


def acts(viewer: Viewer, job: JobDetail, again: Again) -> None:
    """Draw the buttons that the viewer may press; ``again`` shows what came of it."""
    if not viewer.may(Role.OPERATOR):
        return
    words = viewer.words
    does = _Acts(viewer, job.id, again)
    if job.state in _LIVE:
        button(words("job.pause"), does.pause, icon="pause")
    if job.state == "paused":
        button(words("job.resume"), does.resume, icon="play_arrow", style="main")
    with icon_button("more_vert", words("job.change")), ui.menu():
        if job.state not in _ENDED:
            ui.menu_item(words("job.clear"), does.clear)
            ui.menu_item(words("job.cancel"), does.cancel)
        if viewer.may(Role.ADMIN):
            ui.menu_item(words("job.delete"), does.delete)


def limits_form(viewer: Viewer, job: JobDetail) -> None:
    """Show the limits of a job, to be changed by those who may."""
    words = viewer.words
    if not viewer.may(Role.OPERATOR):
        facts((name, str(value)) for name, value in job.limits.items())
        return
    with ui.element("div").classes("form"):
        pages = _number(words("job.limit_pages"), job.limits.get("pages"))
        seconds = _number(words("job.limit_time"), job.limits.get("time"))
        priority = _number(words("new.priority"), job.priority).props("min=0 max=9")

    async def save() -> None:
        change = JobChange(priority=None if priority.value is None else int(priority.value))
        limits = {
            "pages": None if pages.value is None else int(pages.value),
            "time": seconds.value,
        }
        change.limits = {name: value for name, value in limits.items() if value is not None}
        await viewer.do(calls.change_job(job.id, change), words("job.saved"))

    with bar():
        button(words("act.save"), save)


def _number(label: str, value: float | None) -> ui.number:
    made = ui.number(label, value=value, format="%.0f").props("outlined dense stack-label")
    return made.classes("third")


class _Acts:
    """The verbs of one job."""

    def __init__(self, viewer: Viewer, job: str, again: Again) -> None:
        self._viewer, self._words, self._job, self._again = viewer, viewer.words, job, again

    async def pause(self) -> None:
        await self._viewer.do(calls.pause(self._job), self._words("job.paused"))
        await self._again()

    async def resume(self) -> None:
        await self._viewer.do(calls.resume(self._job), self._words("job.resumed"))
        await self._again()

    async def cancel(self) -> None:
        words = self._words
        if await confirmed(words("job.ask_cancel", id=self._job), words("job.cancel"), words):
            await self._viewer.do(calls.cancel(self._job), words("job.cancelled"))
            await self._again()

    async def delete(self) -> None:
        words = self._words
        if not await confirmed(words("job.ask_delete", id=self._job), words("job.delete"), words):
            return
        if await self._viewer.done(calls.delete_job(self._job), words("job.deleted")):
            ui.navigate.to("/jobs")

    async def clear(self) -> None:
        words = self._words
        wish = await _which_queue(self._viewer, self._job)
        if wish is None:
            return
        page_class, restart = wish
        answer = await self._viewer.do(calls.clear(self._job, page_class, restart=restart))
        if answer is not None:
            said = words("job.cleared", n=f"{answer.cleared:,}")
            ui.notify(said, type="positive", position="top")
            await self._again()


async def _which_queue(viewer: Viewer, job: str) -> tuple[Literal["nav", "data"], bool] | None:
    """Ask which of the two queues is meant, and whether the job begins anew."""
    words = viewer.words
    with ui.dialog() as dialog, ui.element("div").classes("panel"):
        either = f"{words('job.class_nav')} / {words('job.class_data')}"
        ui.label(words("job.ask_clear", id=job, class_name=either)).classes("wrap")
        names = {"nav": words("job.class_nav"), "data": words("job.class_data")}
        which = ui.radio(names, value="nav")
        restart = ui.checkbox(words("job.restart"))
        with bar().style("justify-content: flex-end"):
            button(words("act.no"), lambda: dialog.submit(None), style="quiet")
            button(words("job.clear"), lambda: dialog.submit(True), style="danger")
    sure = await dialog
    wish: tuple[Literal["nav", "data"], bool] = (
        "data" if which.value == "data" else "nav",
        bool(restart.value),
    )
    dialog.delete()
    return wish if sure else None
