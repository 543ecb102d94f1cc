"""What articles cost: pages of a folder read, judged and their articles extracted.

``python -m bench.article FOLDER`` takes every ``.html`` and ``.html.gz`` file in the folder and
below and prints milliseconds of CPU a page, the mean and the slowest, and the share that is judged
to be an article. A JSON file there may say the address of a page under its name:
``{"page": {"url": …}}``.
"""

import gzip
import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from skitter.parse.article.extract import extract_article
from skitter.parse.article.kind import judge_class
from skitter.parse.document import parse_document
from skitter.parse.encoding import read_text
from skitter.parse.media import read_content_type

ROUNDS: Final = 3
"""Each page is measured so often; the least counts, for nothing is done faster than it can be."""
MEAN_BAR_MS: Final = 12.0
MOST_BAR_MS: Final = 200.0
_HTML: Final = read_content_type("text/html")


class Cost(NamedTuple):
    """Milliseconds of CPU for one page."""

    read: float
    """From bytes to a tree."""
    judge: float
    article: float

    @property
    def total(self) -> float:
        """All of it."""
        return sum(self)


class Measured(NamedTuple):
    """One page."""

    name: str
    size: int
    cost: Cost
    is_article: bool


def main(arguments: list[str]) -> int:
    """Measure and print; 1 when articles cost more than they may, 2 when there is none."""
    folders = [Path(one) for one in arguments]
    found = [measured(path, addresses) for folder in folders for path, addresses in pages(folder)]
    if not found:
        print("wanted a folder with .html or .html.gz files")
        return 2
    mean, most = summary(found)
    return int(mean > MEAN_BAR_MS or most > MOST_BAR_MS)


def pages(folder: Path) -> list[tuple[Path, Mapping[str, str]]]:
    """Return the pages of a folder, and the addresses that are known there."""
    addresses: dict[str, str] = {}
    for path in sorted(folder.rglob("*.json")):
        said = json.loads(path.read_text(encoding="utf-8"))
        for name, facts in said.items() if isinstance(said, dict) else ():
            if isinstance(facts, dict) and isinstance(facts.get("url"), str):
                addresses[name] = facts["url"]
    files = sorted([*folder.rglob("*.html"), *folder.rglob("*.html.gz")])
    return [(path, addresses) for path in files]


def measured(path: Path, addresses: Mapping[str, str]) -> Measured:
    """Measure one page."""
    raw = path.read_bytes()
    body = gzip.decompress(raw) if path.suffix == ".gz" else raw
    name = path.name.removesuffix(".gz").removesuffix(".html")
    url = addresses.get(name, f"https://example.com/{name}")
    document = parse_document(read_text(body, _HTML)[1])
    cost = Cost(
        _cpu_ms(lambda: parse_document(read_text(body, _HTML)[1])),
        _cpu_ms(lambda: judge_class(document, url)),
        _cpu_ms(lambda: extract_article(document, url)),
    )
    return Measured(name, len(body), cost, judge_class(document, url).page_class == "data")


def summary(found: list[Measured]) -> tuple[float, float]:
    """Print what the pages cost together; answers the mean and the most of one page."""
    n = len(found)
    print(f"{n} pages, {sum(one.size for one in found) / n / 1000:.0f} kB each")
    for part in Cost._fields:
        costs = [getattr(one.cost, part) for one in found]
        print(f"{part:<8} {sum(costs) / n:6.1f} ms of CPU a page, {max(costs):6.1f} the slowest")
    totals = [one.cost.total for one in found]
    mean, most = sum(totals) / n, max(totals)
    bars = f"(bars {MEAN_BAR_MS:g} and {MOST_BAR_MS:g})"
    print(f"{'all':<8} {mean:6.1f} ms of CPU a page, {most:6.1f} the slowest {bars}")
    articles = sum(one.is_article for one in found)
    print(f"{articles} of {n} judged to be articles ({articles / n:.1%})")
    return mean, most


def _cpu_ms(run: Callable[[], object]) -> float:
    costs = []
    for _ in range(ROUNDS):
        began = time.thread_time()
        run()
        costs.append(time.thread_time() - began)
    return min(costs) * 1000


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
