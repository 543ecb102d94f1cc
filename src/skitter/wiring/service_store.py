"""A service on a store that many share: every question is answered in this process."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

from skitter.crawl.inspect import Answer, Question, error_facts
from skitter.errors import SkitterError
from skitter.politeness.settings.live import LiveSettings
from skitter.wiring.connect import PATIENCE_S, Connected, Place, connect_worker
from skitter.wiring.job_access import add_job, keeper_of, refuse_unminded, store_of
from skitter.wiring.job_keeper import line_of
from skitter.wiring.look import Where, answer_from
from skitter.wiring.nodes import NodesKeeper, RedisLook
from skitter.wiring.settings import SettingsKeeper
from skitter.wiring.store import Store
from skitter.wiring.undo import undo_in


async def open_shared(stack: AsyncExitStack, place: Place, data: Path) -> tuple[Store, Answer]:
    """Open a store in Redis, and return it with who answers for it."""
    assert place.store is not None
    connected = await connect_worker(stack, place, patience_s=PATIENCE_S)
    answers = SharedAnswers(connected, place.store, data)
    await answers.open()
    return store_of(connected.frontier), answers.answer


class SharedAnswers:
    """Answers questions about jobs, pages, settings, nodes and aliases of a shared store."""

    def __init__(self, connected: Connected, url: str, data: Path) -> None:
        nodes, frontier = connected
        self._connected = connected
        self._frontier = frontier
        self._url = url
        self._data = data
        self._jobs = keeper_of(connected)
        self._jobs.check = refuse_unminded
        self._settings = SettingsKeeper(frontier, frontier.clock, LiveSettings())
        look = RedisLook(nodes, frontier.keys, frontier.clock)
        buried = frontier.vultures(lambda _: False).total
        self._nodes = NodesKeeper(frontier, frontier, frontier.clock, look, buried, has_table=True)

    async def open(self) -> None:
        """Go by the settings that are in the store."""
        await self._settings.open()

    async def answer(self, question: Question) -> AsyncIterator[bytes]:
        """Yield the lines of an answer; whatever goes wrong is one, too."""
        try:
            async for line in self._lines(question):
                yield line
        except SkitterError as error:
            yield line_of(error_facts(error))

    def _lines(self, question: Question) -> AsyncIterator[bytes]:
        match question:
            case {"jobs": "add", "job": data, "source": str(source)}:
                return self._add(data, source)
            case {"jobs": _}:
                return self._jobs.answer(question)
            case {"settings": _}:
                return self._settings.answer(question)
            case {"nodes": _}:
                return self._nodes.answer(question)
            case {"undo_alias": str(host)}:
                return self._undo(host, question.get("job"))
            case _:
                frontier = self._frontier
                return answer_from(frontier, frontier.secret, self._data, question)

    async def _add(self, data: object, source: str) -> AsyncIterator[bytes]:
        yield line_of(await add_job(self._connected, data, source))
        yield line_of({"complete": True})

    async def _undo(self, host: str, job: object) -> AsyncIterator[bytes]:
        where = Where(store=self._url, job=None if job is None else str(job))
        yield line_of(await undo_in(self._frontier, host, where))
