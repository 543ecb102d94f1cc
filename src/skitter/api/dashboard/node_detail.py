"""One node: its workers, its speed and its logs, and more workers where the viewer may."""

from nicegui import ui

from skitter.api.dashboard import charts
from skitter.api.dashboard.format import ago, number, span
from skitter.api.dashboard.nodes import (
    EVERY_S,
    fill_workers,
    node_series,
    speed_lines,
    workers_table,
)
from skitter.api.dashboard.parts import (
    bar,
    button,
    empty,
    facts,
    heading,
    inside,
    panel,
    stack,
    state_badge,
)
from skitter.api.dashboard.session import Viewer
from skitter.client.base import Role
from skitter.client.calls import nodes as calls
from skitter.client.nodes import LogPiece, NodeDetail

_KINDS = ("all", "news", "site", "list", "web", "resolve")
_LINES = 200


async def show(viewer: Viewer, node_id: str) -> None:
    """Draw the page."""
    words = viewer.words
    ui.page_title(f"{node_id} · Skitter")
    node = await viewer.find(calls.node(node_id))
    if node is None:
        with panel(), empty(words("nodes.not_found"), words("nodes.not_found_next"), icon="dns"):
            button(words("nodes.title"), lambda: ui.navigate.to("/nodes"))
        return
    page = OneNode(viewer, node)
    await page.refresh()
    ui.timer(EVERY_S, page.refresh, immediate=False)


class OneNode:
    """What is on the page of a node."""

    def __init__(self, viewer: Viewer, node: NodeDetail) -> None:
        self._viewer, self._words, self._id = viewer, viewer.words, node.id
        words = viewer.words
        with stack():
            with bar():
                inside(words("nav.nodes"), "/nodes")
                ui.label("/").classes("faint")
                heading(node.id)
                state_badge(node.health, words)
            with ui.element("div").classes("wide-narrow"):
                with panel(words("nodes.speed_chart")):
                    self._chart = charts.chart(charts.lines([]), words("nodes.speed_chart"))
                with panel(words("nodes.machine")):
                    self._facts = ui.element("div")
            with panel(words("nodes.workers")):
                if viewer.may(Role.ADMIN):
                    self._start_form()
                self._workers = workers_table(viewer, self.refresh)
            with panel(words("nodes.logs")):
                self._logs()

    def _start_form(self) -> None:
        words = self._words
        kinds = {kind: words.known("kind", kind) for kind in _KINDS}
        with bar():
            kind = ui.select(kinds, value="all", label=words("nodes.kind"))
            kind.props("outlined dense options-dense").style("min-width: 120px")
            count = ui.number(words("nodes.count"), value=1, min=1, max=64, format="%.0f")
            count.props("outlined dense").style("width: 100px")

            async def start() -> None:
                n = int(count.value or 1)
                call = calls.start_workers(self._id, kind=kind.value, count=n)
                await self._viewer.do(call, words("nodes.started", n=n))
                await self.refresh()

            button(words("nodes.start"), start, icon="add", style="main")

    def _logs(self) -> None:
        words = self._words
        with bar():
            self._which = ui.select(
                {0: words("nodes.manager")}, value=0, label=words("nodes.log_of")
            )
            self._which.props("outlined dense options-dense").style("min-width: 160px")
            self._which.on_value_change(self._read_log)
            button(words("act.refresh"), self._read_log, icon="refresh", style="quiet")
        with ui.element("pre").classes("log").props('tabindex="0"'):
            self._log = ui.label().style("display: contents")

    async def refresh(self) -> None:
        """Ask how the node stands, and show it."""
        node = await self._viewer.read(calls.node(self._id))
        if node is None:
            return
        fill_workers(self._viewer, self._workers, node.workers)
        self._offer_logs(node)
        self._facts.clear()
        with self._facts:
            self._machine(node)
        series = await node_series(self._viewer, self._id)
        charts.redraw(self._chart, speed_lines(series, self._words))
        if not self._log.text:
            await self._read_log()

    def _offer_logs(self, node: NodeDetail) -> None:
        name = self._words("nodes.worker")
        known = {one.worker: f"{name} {one.worker}" for one in node.workers if one.worker}
        options = {0: self._words("nodes.manager")} | known
        if options != self._which.options:
            self._which.set_options(options)

    def _machine(self, node: NodeDetail) -> None:
        words = self._words
        heard = None if node.heartbeat_s is None else span(node.heartbeat_s, words)
        facts(
            [
                (words("nodes.machine"), node.machine),
                (words("nodes.since"), ago(node.since, words) if node.since else None),
                (words("nodes.heartbeat"), heard and words("time.ago", span=heard)),
                (words("nodes.limit"), None if node.limit is None else number(node.limit)),
                (words("nodes.queued"), number(node.queued) if node.queued else None),
                ("PID", None if node.pid is None else str(node.pid)),
            ]
        )

    async def _read_log(self) -> None:
        call = calls.logs(self._id, worker=self._which.value, lines=_LINES)
        answer = await self._viewer.find(call)
        pieces: list[LogPiece] = answer.logs if answer is not None else []
        text = "".join(piece.text for piece in pieces if piece.worker == self._which.value)
        self._log.set_text(text or self._words("nodes.no_logs"))
