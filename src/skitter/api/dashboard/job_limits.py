"""The limits of a job: shown, changed, and raised when the job has stopped at one."""

from typing import Final

from nicegui import ui

from skitter.api.dashboard.format import number
from skitter.api.dashboard.i18n.words import Words
from skitter.api.dashboard.parts import bar, button, facts
from skitter.api.dashboard.session import Viewer
from skitter.client.calls import jobs as calls
from skitter.client.jobs import JobChange, JobDetail, JobRow

LIMITS: Final = ("pages", "time", "bytes")
LIMITED: Final = "limited"
"""How a job is shown that a limit has stopped, whatever its state is called."""


def limit_of(job: JobRow) -> str | None:
    """Return the limit that has stopped a job, None where none has."""
    name = job.stopped_by.removesuffix(" limit")
    return name if name in LIMITS and name != job.stopped_by else None


def shown_state(job: JobRow) -> str:
    """Return the state that is shown of a job: one at its limit has not come to its end."""
    return job.state if limit_of(job) is None else LIMITED


def at_limit(job: JobDetail, words: Words) -> str:
    """Return the sentence that says which limit has stopped a job; "" where none has."""
    name = limit_of(job)
    if name is None:
        return ""
    limit = words(f"job.limit_of_{name}", n=number(job.limits.get(name)))
    return words("job.at_limit", limit=limit, n=number(job.queued + job.leased))


def limits_form(viewer: Viewer, job: JobDetail) -> None:
    """Show the limits of a job, to be changed by those who may."""
    words = viewer.words
    with ui.element("div").classes("form"):
        fields = {
            name: _number(words(f"job.limit_{name}"), job.limits.get(name)) for name in LIMITS
        }
        priority = _number(words("new.priority"), job.priority).props("min=0 max=9")

    async def save() -> None:
        change = JobChange(priority=None if priority.value is None else int(priority.value))
        change.limits = {name: whole(field.value) for name, field in fields.items()}
        await viewer.do(calls.change_job(job.id, change), words("job.saved"))

    with bar():
        button(words("act.save"), save)


def limits_read(job: JobDetail) -> None:
    """Show the limits of a job to those who may not change them."""
    facts((name, str(value)) for name, value in job.limits.items())


async def go_on(viewer: Viewer, job: JobDetail) -> None:
    """Ask for a larger limit, and let the job go on with it."""
    words, name = viewer.words, limit_of(job)
    if name is None:
        return
    wanted = await _asked(words, job, name)
    if wanted is None:
        return
    change = JobChange(limits={name: whole(wanted)})
    if await viewer.do(calls.change_job(job.id, change)) is None:
        return
    # At its pages it only waits for more of them, at its time and its bytes it was paused.
    if job.state == "paused":
        await viewer.do(calls.resume(job.id), words("job.resumed"))
    else:
        ui.notify(words("job.resumed"), type="positive", position="top", icon="check")


async def _asked(words: Words, job: JobDetail, name: str) -> float | None:
    """Return the limit that somebody wants instead, None for none."""
    with ui.dialog() as dialog, ui.element("div").classes("panel"):
        ui.label(words(f"job.ask_{name}", id=job.id)).classes("wrap")
        field = _number(words(f"job.limit_{name}"), next_limit(job, name))
        field.props["data-field"] = "limit"
        with bar().style("justify-content: flex-end"):
            button(words("act.no"), lambda: dialog.submit(None), style="quiet")
            button(words("job.go_on"), lambda: dialog.submit(True), style="main")
    sure = await dialog
    dialog.delete()
    return field.value if sure is True else None


def next_limit(job: JobDetail, name: str) -> float:
    """Return the limit that is proposed: the same time again, else twice as much as it has."""
    had = {"pages": job.pages, "bytes": job.bytes}.get(name, 0)
    limit = float(job.limits.get(name) or 0)
    return limit if name == "time" else 2 * max(limit, had)


def whole(value: float | None) -> float | None:
    """Return a number of a field as a limit is written: whole if it is."""
    return int(value) if value is not None and value == int(value) else value


def _number(label: str, value: float | None) -> ui.number:
    made = ui.number(label, value=value, format="%.0f").props("outlined dense stack-label")
    return made.classes("third")
