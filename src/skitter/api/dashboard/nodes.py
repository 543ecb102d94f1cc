"""Nodes: every machine with its workers, and how fast each is."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from nicegui import ui

from skitter.api.dashboard import charts, tables
from skitter.api.dashboard.format import part_of_path
from skitter.api.dashboard.i18n.words import Words
from skitter.api.dashboard.parts import confirmed, empty, heading, panel, stack
from skitter.api.dashboard.session import Viewer
from skitter.client.base import Role
from skitter.client.calls import events as event_calls
from skitter.client.calls import nodes as calls
from skitter.client.events import Series
from skitter.client.nodes import NodeRow, WorkerRow

Again = Callable[[], Awaitable[None]]
EVERY_S: Final = 2.0
_BACK: Final = timedelta(minutes=15)


async def show(viewer: Viewer) -> None:
    """Draw the page."""
    page = Nodes(viewer)
    await page.refresh()
    ui.timer(EVERY_S, page.refresh, immediate=False)


class Nodes:
    """All machines."""

    def __init__(self, viewer: Viewer) -> None:
        words = self._words = viewer.words
        self._viewer = viewer
        ui.page_title(f"{words('nav.nodes')} · Skitter")
        with stack():
            heading(words("nodes.title"))
            with panel(words("nodes.speed_chart")):
                self._chart = charts.chart(charts.lines([]), words("nodes.speed_chart"))
            with panel(words("nodes.title")):
                self._nodes = tables.table(_columns(words), label=words("nodes.title"))
                self._none = ui.element("div")
            with panel(words("nodes.workers")):
                self._workers = workers_table(viewer, self.refresh)

    async def refresh(self) -> None:
        """Ask who is there, and show it."""
        answer = await self._viewer.read(calls.nodes())
        if answer is None:
            return
        words = self._words
        tables.refill(self._nodes, (_row(node, words) for node in answer.nodes))
        fill_workers(self._viewer, self._workers, answer.workers)
        self._none.clear()
        if not answer.nodes:
            with self._none:
                empty(words("nodes.none"), words("nodes.none_next"), icon="dns")
        series = await node_series(self._viewer)
        charts.redraw(self._chart, speed_lines(series, words))


async def node_series(viewer: Viewer, node: str | None = None) -> Sequence[Series]:
    """Return what one node has fetched in the last minutes, or each of them."""
    since = (datetime.now(UTC) - _BACK).isoformat(timespec="seconds")
    name = "pages|node" if node is None else f"pages|node={node}"
    answer = await viewer.read(event_calls.series(name, step="10s", since=since))
    return answer.series if answer is not None else ()


def speed_lines(series: Sequence[Series], words: Words) -> charts.Options:
    """Return the chart of the speed of nodes, without the step that is not over."""
    named = [
        (one.name.partition("node=")[2], charts.begun(charts.line_of(one.points, per=10)[:-1]))
        for one in series
    ]
    return charts.lines(named, unit=words("unit.pages_per_second"), area=len(named) == 1)


def workers_table(viewer: Viewer, again: Again) -> ui.table:
    """Return the table of workers, with buttons to stop them for those who may."""
    words = viewer.words
    columns = [
        tables.Column("worker", words("nodes.worker"), "link"),
        tables.Column("state", words("nodes.state"), "badge"),
        tables.Column("kind", words("nodes.kind"), wide=True),
        tables.Column("speed", words("nodes.speed"), "number"),
        tables.Column("pages", words("nodes.pages"), "number", wide=True),
        tables.Column("in_flight", words("nodes.in_flight"), "number", wide=True),
        tables.Column("restarts", words("nodes.restarts"), "number", wide=True),
        tables.Column("since", words("nodes.since"), wide=True),
        tables.Column("stop", "", "action"),
    ]
    shown = tables.table(columns, label=words("nodes.workers"))

    async def act(_: str, value: str) -> None:
        node, _, worker = value.rpartition("/")
        await _stop(viewer, node, int(worker))
        await again()

    tables.on_act(shown, act)
    return shown


def fill_workers(viewer: Viewer, shown: ui.table, workers: Sequence[WorkerRow]) -> None:
    """Put workers into their table."""
    running_first = sorted(workers, key=lambda worker: worker.state == "finished")
    tables.refill(shown, (_worker(viewer, worker) for worker in running_first))


async def _stop(viewer: Viewer, node: str, worker: int) -> None:
    words = viewer.words
    question = words("nodes.ask_stop", worker=worker, node=node)
    if await confirmed(question, words("nodes.stop"), words):
        await viewer.do(calls.stop_worker(node, worker), words("nodes.stopping"))


def _worker(viewer: Viewer, worker: WorkerRow) -> tables.Cells:
    words = viewer.words
    may_stop = viewer.may(Role.ADMIN) and worker.state in ("running", "waiting", "resting")
    name = worker.member if worker.worker is None else f"{worker.node} · {worker.worker}"
    stop = f"{worker.node}/{worker.worker}"
    return (
        {"id": f"{worker.node} {worker.worker} {worker.member}"}
        | tables.link_cell("worker", name, f"/nodes/{part_of_path(worker.node)}")
        | tables.badge_cell("state", worker.state, words, title=worker.trouble or worker.health)
        | tables.cell("kind", worker.kind, words.known("kind", worker.kind))
        | tables.number_cell("speed", worker.pages_per_minute)
        | tables.number_cell("pages", worker.pages)
        | tables.number_cell("in_flight", worker.in_flight)
        | tables.number_cell("restarts", worker.restarts)
        | tables.time_cell("since", worker.since, words)
        | tables.cell("stop", stop, words("nodes.stop") if may_stop and worker.worker else "")
    )


def _columns(words: Words) -> list[tables.Column]:
    return [
        tables.Column("id", words("nodes.node"), "link", flex=True),
        tables.Column("health", words("nodes.health"), "badge"),
        tables.Column("workers", words("nodes.workers"), "number"),
        tables.Column("speed", words("nodes.speed"), "number"),
        tables.Column("pages", words("nodes.pages"), "number", wide=True),
        tables.Column("in_flight", words("nodes.in_flight"), "number", wide=True),
    ]


def _row(node: NodeRow, words: Words) -> tables.Cells:
    return (
        tables.link_cell("id", node.id, f"/nodes/{part_of_path(node.id)}")
        | tables.badge_cell("health", node.health, words)
        | tables.number_cell("workers", node.workers)
        | tables.number_cell("speed", node.pages_per_minute)
        | tables.number_cell("pages", node.pages)
        | tables.number_cell("in_flight", node.in_flight)
    )
