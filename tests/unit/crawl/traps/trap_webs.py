"""Small webs in memory, and a crawl of them with the guard in the loop as the engine has it."""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from urllib.parse import urljoin

from skitter.crawl.traps.guard import TrapGuard, TrapLimits
from skitter.parse.simhash import sketch_of

NOW_MS = 1_780_000_000_000
ROOT = "https://site.test"
Answer = tuple[str, Iterable[str]]
"""The text of a page, a line for each of its elements, and its links as written."""


@dataclass
class Web:
    """A site: ``answer`` maps a path with its query to a page; ``real`` lists the real ones."""

    answer: Callable[[str], Answer | None]
    real: set[str]
    start: str = "/"


def make_guard(limits: TrapLimits | None = None) -> TrapGuard:
    return TrapGuard(limits or TrapLimits(), now_ms=lambda: NOW_MS)


@dataclass(frozen=True)
class Waiting:
    """A queued URL."""

    url: str
    depth: int = 0
    found_on: str = ""


@dataclass
class Crawl:
    """A crawl of ``web``: breadth first, doubtful links behind all others.

    ``flight`` requests are under way at once, ``late`` says whether doubtful links wait.
    """

    web: Web
    guard: TrapGuard = field(default_factory=make_guard)
    limit: int = 5_000
    flight: int = 1
    late: bool = True
    depth_first: bool = False
    fetched: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        start = ROOT + self.web.start
        self._queue = deque([Waiting(start)])
        self._doubtful: deque[Waiting] = deque()
        self._seen = {start}

    @property
    def missed(self) -> set[str]:
        return self.web.real - set(self.fetched)

    @property
    def trapped(self) -> list[str]:
        return [path for path in self.fetched if path not in self.web.real]

    def run(self) -> "Crawl":
        while taken := self._take():
            for waiting in taken:
                self._visit(waiting)
            if len(self.fetched) > self.limit:
                break
        return self

    def _take(self) -> list[Waiting]:
        taken: list[Waiting] = []
        while len(taken) < self.flight and (queue := self._queue or self._doubtful):
            waiting = queue.pop() if self.depth_first else queue.popleft()
            why = self.guard.before(waiting.url, waiting.depth, found_on=waiting.found_on)
            if why is None:
                taken.append(waiting)
        return taken

    def _visit(self, page: Waiting) -> None:
        answer = self.web.answer(page.url.removeprefix(ROOT))
        if answer is None:
            return
        self.fetched.append(page.url.removeprefix(ROOT))
        text, links = answer
        hrefs = [*links]
        wanted = self.guard.wants_content(page.url, page.depth, found_on=page.found_on)
        sketch = sketch_of(text.split("\n"), page.url, hrefs) if wanted else None
        self.guard.page(page.url, depth=page.depth, found_on=page.found_on, sketch=sketch)
        for href in dict.fromkeys(hrefs):
            target = urljoin(page.url, href).partition("#")[0]
            why = self.guard.link(target, found_on=page.url, depth=page.depth + 1)
            if why is None and target not in self._seen:
                self._seen.add(target)
                queue = self._doubtful if self.guard.doubtful and self.late else self._queue
                queue.append(Waiting(target, page.depth + 1, page.url))
