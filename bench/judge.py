"""Read the server's log and a crawler's records against the ground truth."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from bench.render import Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    """What the server saw."""

    pages: int
    """Different pages that were fetched."""
    missed: int
    twice: int
    """Fetches of a page beyond its first."""
    forbidden: int
    requests: int
    seconds: float
    """From the first request to the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """What the crawler wrote."""

    missing: int
    """Pages without a record."""
    twice: int
    wrong: int
    """Records whose title is not the page's, or that are no JSON."""


def judge_log(manifest: Manifest, lines: Iterable[str]) -> Requests:
    """Count the fetches in an access log."""
    fetched: Counter[str] = Counter()
    times: list[float] = []
    forbidden = 0
    for line in lines:
        moment, host, status, path, _ = line.split(" ")
        times.append(float(moment))
        # The server logs the path as it was asked; an empty query is a second spelling.
        url = f"http://{host}:{manifest.port}{path.removesuffix('?')}"
        if path.startswith(manifest.forbidden_path):
            forbidden += 1
        elif status == "200" and url in manifest.titles:
            fetched[url] += 1
    return Requests(
        pages=len(fetched),
        missed=len(manifest.titles) - len(fetched),
        twice=fetched.total() - len(fetched),
        forbidden=forbidden,
        requests=len(times),
        seconds=max(times) - min(times) if times else 0.0,
    )


def judge_records(manifest: Manifest, lines: Iterable[bytes]) -> Records:
    """Count the records: one with the right title is wanted for every page."""
    found: Counter[str] = Counter()
    wrong = 0
    for line in lines:
        try:
            record: dict[str, Any] = json.loads(line)
        except ValueError:
            wrong += 1
            continue
        url = str(record.get("final_url") or record["url"]).partition("#")[0].removesuffix("?")
        kept = record.get("outcome", "ok") == "ok" and record.get("status") == 200
        if not kept or url not in manifest.titles:
            continue
        found[url] += 1
        wrong += record.get("title") != manifest.titles[url]
    return Records(
        missing=len(manifest.titles) - len(found),
        twice=found.total() - len(found),
        wrong=wrong,
    )
