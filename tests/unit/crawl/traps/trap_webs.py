"""Small webs in memory, endless ones and real ones, and a crawl of them with the guard in it."""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from urllib.parse import urljoin

from skitter.crawl.traps.guard import TrapGuard, TrapLimits
from skitter.parse.simhash import sketch_of

NOW_MS = 1_780_000_000_000
ROOT = "https://site.test"
Answer = tuple[str | list[str], Iterable[str]]
"""The text of a page, and its links as written."""


@dataclass
class Web:
    """A site: ``answer`` maps a path with its query to a page; real pages are those listed."""

    answer: Callable[[str], Answer | None]
    real: set[str]
    start: str = "/"


@dataclass
class Report:
    """What a crawl fetched."""

    fetched: list[str] = field(default_factory=list)
    guard: TrapGuard | None = None
    real: set[str] = field(default_factory=set)

    @property
    def missed(self) -> set[str]:
        return self.real - set(self.fetched)

    @property
    def trapped(self) -> list[str]:
        return [path for path in self.fetched if path not in self.real]


def crawl(
    web: Web,
    *,
    limit: int = 20_000,
    guard: TrapGuard | None = None,
    late: bool = True,
    last_first: bool = False,
) -> Report:
    """Crawl ``web`` as the engine does: breadth first, doubtful links behind all others."""
    guard = guard or TrapGuard(TrapLimits(), now_ms=lambda: NOW_MS)
    report = Report(guard=guard, real=web.real)
    queue: deque[tuple[str, int, str]] = deque([(ROOT + web.start, 0, "")])
    doubtful: deque[tuple[str, int, str]] = deque()
    seen = {ROOT + web.start}
    while queue or doubtful:
        waiting = queue or doubtful
        url, depth, found_on = waiting.pop() if last_first else waiting.popleft()
        if guard.before(url, depth, found_on=found_on) is not None:
            continue
        answer = web.answer(url.removeprefix(ROOT))
        if answer is None:
            continue
        report.fetched.append(url.removeprefix(ROOT))
        assert len(report.fetched) <= limit, f"no end: {report.fetched[-5:]}"
        text, links = answer
        hrefs = [*links]
        lines = text.split("\n") if isinstance(text, str) else text
        sketch = (
            sketch_of(lines, url, hrefs)
            if guard.wants_content(url, depth, found_on=found_on)
            else None
        )
        guard.page(url, depth=depth, found_on=found_on, sketch=sketch)
        for href in dict.fromkeys(hrefs):
            target = urljoin(url, href).partition("#")[0]
            if not target.startswith(f"{ROOT}/"):
                continue
            if guard.link(target, found_on=url, depth=depth + 1) is None and target not in seen:
                seen.add(target)
                (doubtful if guard.doubtful and late else queue).append((target, depth + 1, url))
    return report
