"""Compare a finished crawl with the ground truth and say every difference in words."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from skitter.demo.expected import Expected
from skitter.demo.listing import GUESSES
from skitter.demo.model import Target
from skitter.demo.server import Hit
from skitter.demo.truth import GroundTruth
from skitter.demo.web import Web
from skitter.types import Outcome

Record = Mapping[str, Any]
_KEPT = frozenset({Outcome.OK, Outcome.NOINDEX})


def problems(truth: GroundTruth, records: Iterable[Record], hits: Iterable[Hit]) -> list[str]:
    """Return what is wrong with a crawl, given its records and the server's ledger."""
    return [*request_problems(truth, hits), *record_problems(truth, records)]


def target_of(web: Web, url: str) -> Target | None:
    """Return which page ``url`` means, whatever its spelling."""
    return web.target_of(url)


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
    yield from trap_problems(truth, asked)
    for target, times in asked.items():
        most = _most(truth, target)
        if most == 0:
            yield f"{truth.web.url(target)}: asked for, which must never be"
        elif times > most:
            yield f"{truth.web.url(target)}: asked for {times} times, at most {most}"
    least = {target: expected.least for target, expected in truth.expected.items()}
    for target, times in (least | dict.fromkeys(truth.sitemaps, 1)).items():
        if asked[target] < times:
            yield f"{truth.web.url(target)}: asked for {asked[target]} times, at least {times}"


def trap_problems(truth: GroundTruth, asked: Iterable[Target]) -> Iterator[str]:
    """Yield the sites too many of whose fetched pages lie in endless traps."""
    pages, traps = Counter[str](), dict[str, Counter[str]]()
    for target in set(asked):
        if _is_map(truth, target):
            continue
        pages[target.site] += 1
        if kind := truth.web.trap(target):
            traps.setdefault(target.site, Counter())[kind] += 1
    for site, kinds in traps.items():
        if kinds.total() > truth.plan.trap_share * pages[site]:
            said = ", ".join(f"{kind} {times}" for kind, times in sorted(kinds.items()))
            yield (
                f"{truth.web.entry_of(site)}: {kinds.total()} of {pages[site]} fetched pages lie "
                f"in traps ({said}), at most {truth.plan.trap_share:.0%}"
            )


def _most(truth: GroundTruth, target: Target) -> int:
    """Return how often ``target`` may be asked for."""
    expected = truth.expected.get(target)
    if expected is not None:
        return expected.most
    return int(truth.web.trap(target) is not None or _is_map(truth, target))


def _is_map(truth: GroundTruth, target: Target) -> bool:
    """Tell whether a crawl that reads sitemaps may look for one at ``target``."""
    if truth.plan.sitemaps == "no" or target.path not in GUESSES:
        return target in truth.sitemaps
    return any(entry.site == target.site for entry in truth.entries)


def _is_robots(web: Web, target: Target) -> bool:
    return target.path in {"/robots.txt", web.sites[target.site].robots.moved_to}


def record_problems(truth: GroundTruth, records: Iterable[Record]) -> Iterator[str]:
    """Yield what is wrong with the records."""
    covered: Counter[Target] = Counter()
    firsts: Counter[frozenset[Target]] = Counter()
    for record in records:
        target = target_of(truth.web, record["url"])
        expected = truth.expected.get(target) if target else None
        if target and expected is None and (truth.web.trap(target) or _is_map(truth, target)):
            continue
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
