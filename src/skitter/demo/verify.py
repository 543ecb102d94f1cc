"""Compare a finished crawl with the ground truth and say every difference in words."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from skitter.demo.model import Target
from skitter.demo.server import Hit
from skitter.demo.truth import Expected, GroundTruth
from skitter.demo.web import Web
from skitter.types import Outcome

Record = Mapping[str, Any]
_KEPT = frozenset({Outcome.OK, Outcome.NOINDEX})


def problems(truth: GroundTruth, records: Iterable[Record], hits: Iterable[Hit]) -> list[str]:
    """Return what is wrong with a crawl, given its records and the server's ledger."""
    return [*request_problems(truth, hits), *record_problems(truth, records)]


def target_of(web: Web, url: str) -> Target | None:
    """Return which page ``url`` means, whatever its spelling."""
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    found = web.find(parts.netloc, path)
    if found is not None:
        return found
    names = {host: name for name, host in web.hosts.items()}
    name = names.get(parts.hostname or "")
    return Target(name, path) if name else None


def request_problems(truth: GroundTruth, hits: Iterable[Hit]) -> Iterator[str]:
    """Yield what is wrong with the requests."""
    asked: Counter[Target] = Counter()
    greeted: set[str] = set()
    for hit in hits:
        target = truth.web.find(hit.host, hit.path)
        if target is None:
            yield f"{hit.host}{hit.path}: asked for, a host that is not served"
        elif _is_robots(truth.web, target):
            greeted.add(target.site)
        else:
            asked[target] += 1
            if target.site not in greeted:
                greeted.add(target.site)
                yield f"{truth.web.url(target)}: asked for before the robots.txt of its host"
    for target, times in asked.items():
        expected = truth.expected.get(target)
        if expected is None or expected.most == 0:
            yield f"{truth.web.url(target)}: asked for, which must never be"
        elif times > expected.most:
            yield f"{truth.web.url(target)}: asked for {times} times, at most {expected.most}"
    for target, expected in truth.expected.items():
        if asked[target] < expected.least:
            times = asked[target]
            yield f"{truth.web.url(target)}: asked for {times} times, at least {expected.least}"


def _is_robots(web: Web, target: Target) -> bool:
    return target.path in {"/robots.txt", web.sites[target.site].robots.moved_to}


def record_problems(truth: GroundTruth, records: Iterable[Record]) -> Iterator[str]:
    """Yield what is wrong with the records."""
    covered: Counter[Target] = Counter()
    firsts: Counter[frozenset[Target]] = Counter()
    for record in records:
        target = target_of(truth.web, record["url"])
        expected = truth.expected.get(target) if target else None
        if expected is None:
            yield f"{record['url']}: has a record, and should have none"
            continue
        covered.update(_covers(truth.web, expected, record))
        yield from (f"{record['url']}: {what}" for what in _differences(truth, expected, record))
        page = truth.expected.get(expected.end) if expected.end else None
        if page and page.twins and record["outcome"] in _KEPT and not record["duplicate_of"]:
            firsts[page.twins] += 1
    yield from _coverage(truth, covered)
    for twins, times in firsts.items():
        if times != 1:
            urls = ", ".join(sorted(map(truth.web.url, twins)))
            yield f"{urls}: {times} of these equal pages count as the first"


def _coverage(truth: GroundTruth, covered: Counter[Target]) -> Iterator[str]:
    for target, expected in truth.expected.items():
        times = covered[target]
        if times > 1 or (times == 0 and not expected.optional):
            yield f"{truth.web.url(target)}: accounted for by {times} records instead of one"


def _covers(web: Web, expected: Expected, record: Record) -> tuple[Target, ...]:
    """Return the URLs that ``record`` accounts for: its own, and the hops made on its behalf."""
    if record["outcome"] != Outcome.DUPLICATE or len(expected.chain) == 1:
        return expected.chain
    known = target_of(web, record["duplicate_of"] or record["final_url"] or "")
    if known not in expected.chain:
        return expected.chain[:1]
    return expected.chain[: expected.chain.index(known)]


def _differences(truth: GroundTruth, expected: Expected, record: Record) -> Iterator[str]:
    outcome = record["outcome"]
    if outcome not in expected.outcomes:
        wanted = " or ".join(sorted(expected.outcomes))
        yield f"outcome {outcome} instead of {wanted} ({record.get('error')})"
        return
    if outcome == Outcome.DUPLICATE:
        known = target_of(truth.web, record["duplicate_of"] or "")
        if known not in expected.chain[1:]:
            yield f"duplicate of {record['duplicate_of']}, where it does not lead"
        return
    if expected.status is not None and record["status"] != expected.status:
        yield f"status {record['status']} instead of {expected.status}"
    if outcome in _KEPT:
        yield from _page_differences(truth, expected, record)


def _page_differences(truth: GroundTruth, expected: Expected, record: Record) -> Iterator[str]:
    if target_of(truth.web, record["final_url"] or "") != expected.end:
        yield f"final_url {record['final_url']} instead of {expected.end}"
    if expected.encodings and (record["encoding"] or "").lower() not in expected.encodings:
        yield f"encoding {record['encoding']} instead of {sorted(expected.encodings)}"
    if expected.encodings and record["title"] != expected.title:
        yield f"title {record['title']!r} instead of {expected.title!r}"
    if expected.n_links is not None and record["n_links"] != expected.n_links:
        yield f"{record['n_links']} links instead of {expected.n_links}"
    copied = record["duplicate_of"]
    end = truth.expected.get(expected.end) if expected.end else None
    if copied and (end is None or target_of(truth.web, copied) not in end.twins):
        yield f"duplicate of {copied}, which is another page"
