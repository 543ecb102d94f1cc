"""What can be done with a job: pause, resume, cancel, clear, delete, go on beyond a limit."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Literal

from nicegui import ui

from skitter.api.dashboard.job_limits import go_on, limit_of
from skitter.api.dashboard.parts import bar, button, confirmed, icon_button
from skitter.api.dashboard.session import Viewer
from skitter.client.base import Role
from skitter.client.calls import jobs as calls
from skitter.client.jobs import JobDetail

Again = Callable[[], Awaitable[None]]
_LIVE = ("running", "waiting")
_ENDED = ("finished", "cancelled")


def acts(viewer: Viewer, job: JobDetail, again: Again) -> None:
    """Draw the buttons that the viewer may press; ``again`` shows what came of it."""
    if not viewer.may(Role.OPERATOR):
        return
    words = viewer.words
    does = _Acts(viewer, job.id, again)
    limited = limit_of(job) is not None
    if job.state in _LIVE:
        button(words("job.pause"), does.pause, icon="pause")
    if limited:
        button(words("job.go_on"), partial(does.go_on, job), icon="play_arrow", style="main")
    elif job.state == "paused":
        button(words("job.resume"), does.resume, icon="play_arrow", style="main")
    with icon_button("more_vert", words("job.change")), ui.menu():
        if limited or job.state not in _ENDED:
            ui.menu_item(words("job.clear"), does.clear)
            ui.menu_item(words("job.cancel"), does.cancel)
        if viewer.may(Role.ADMIN):
            ui.menu_item(words("job.delete"), does.delete)


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

    async def go_on(self, job: JobDetail) -> None:
        await go_on(self._viewer, job)
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
