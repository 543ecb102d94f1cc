"""A crawl by several members on a real store, what may happen to them, and the ledger at the end.

Two machines are two directories. Every member has a line of its own to the store, which can be cut;
members of a Cluster have none, since its servers name each other.
"""

import asyncio
import json
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from crawling import SKITTER, Record
from cut_proxy import CutProxy
from killable import INTERRUPTED, Command, Tree
from ledger_web import ROBOTS, Asked, LedgerWeb
from stores import RedisCluster, RedisServer

from skitter.frontier.model import Counts
from skitter.frontier.redis.address import StoreAddress
from skitter.frontier.redis.frontier import RedisFrontier
from skitter.frontier.redis.nodes import Nodes

DELAY_S = 0.3
TOLERANCE_MS = 2.0
"""A store counts in whole milliseconds, and two of them are rounded."""
ACK_S = 4.0
"""How long after its answer a page may take to be acked, on a busy machine."""
HOP_S = 10.0
"""How long a redirect may wait for its target's turn before both are acked."""
SAFE = {"appendonly": "yes", "appendfsync": "always"}
COMMON = "{skitter}:"
BURIED = "failed (given up: the process died"


@dataclass
class World:
    """A store, a web, one crawl that writes the file, and nodes that help."""

    folder: Path
    web: LedgerWeb
    store: RedisServer | RedisCluster
    delay_s: float = DELAY_S
    crawl_flags: Sequence[str] = ()
    nodes: dict[str, Command] = field(default_factory=dict)
    lines: dict[str, CutProxy] = field(default_factory=dict)
    forgiven: int = 0
    """Pages recorded twice only because a master died with what it had promised."""
    buried: int = 0
    """Pages given up because their members died."""
    _stack: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        hosts = self.folder / "hosts"
        hosts.write_text(self.web.plan.hosts_file())
        self._reach = ["--hosts", str(hosts), "--allow-private", "--concurrency", "16"]
        manners = ["--delay", str(self.delay_s), "--scope", "domain", "--sitemaps", "no"]
        places = ["--out", str(self.out), "--data", str(self.folder / "one" / "crawl")]
        words = [str(SKITTER), "crawl", self.web.entry, *places, *manners, "--no-traps", "--json"]
        url = self._line("crawl")
        self.crawl = Command(
            "crawl", self.folder / "one", [*words, *self._reach, "--store", url, *self.crawl_flags]
        )
        self._stack.callback(self.crawl.kill)

    def __enter__(self) -> "World":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def out(self) -> Path:
        return self.folder / "pages.jsonl"

    def _line(self, name: str) -> str:
        """Return where a member finds the store."""
        if isinstance(self.store, RedisCluster):
            return self.store.url
        self.lines[name] = line = self._stack.enter_context(CutProxy(self.store.port))
        return line.url

    def node(self, name: str, *flags: str, runner: Sequence[str] = (str(SKITTER),)) -> Command:
        """Return a node that is not started yet; its machine is the first word of its name."""
        machine = self.folder / name.partition("-")[0]
        words = [*runner, "node", "--store", self._line(name), "--name", name]
        words += ["--data", str(machine / name), *self._reach]
        if not {"--workers", "--place"} & set(flags):
            words += ["--workers", "1"]
        self.nodes[name] = node = Tree(name, machine, [*words, *flags])
        self._stack.callback(node.kill)
        return node

    def begin(self, *names: str) -> None:
        """Start the crawl and some nodes, and wait until pages come from all over."""
        self.crawl.start()
        for name in names:
            self.node(name).start()
        self.wait(lambda: self.lines_written() >= 3, 90)

    def lines_written(self) -> int:
        return self.out.read_bytes().count(b"\n") if self.out.exists() else 0

    def wait(self, is_so: Callable[[], bool], seconds: float) -> None:
        """Wait for something while the crawl runs."""
        until = time.monotonic() + seconds
        while not is_so():
            assert self.crawl.up, f"the crawl ended ({self.crawl.code}):\n{self.crawl.told[-3000:]}"
            assert time.monotonic() < until, f"took longer than {seconds} s\n{self.standing()}"
            time.sleep(0.02)

    def standing(self) -> str:
        """Return what everybody has said last."""
        told = [f"--- {c.name}\n{c.told[-700:]}" for c in (self.crawl, *self.nodes.values())]
        return "\n".join(told)

    def finish(self, seconds: float) -> dict[str, Any]:
        """Wait for the end of the crawl, let the nodes leave, and return the crawl's summary."""
        until = time.monotonic() + seconds
        while self.crawl.up:
            assert time.monotonic() < until, f"no end after {seconds} s\n{self.standing()}"
            for node in self.nodes.values():
                assert node.up or node.code in {-signal.SIGKILL, 0, INTERRUPTED}, self.standing()
            time.sleep(0.05)
        assert self.crawl.code == 0, self.standing()
        for node in self.nodes.values():
            if node.up:
                assert node.leave() in {0, INTERRUPTED}, self.standing()
        summary: dict[str, Any] = json.loads(
            (self.folder / "one" / "crawl.out").read_text().splitlines()[-1]
        )
        return summary

    def ask(self, key: str, *words: str | int) -> Any:
        """Ask the store itself."""
        store = self.store
        server = store.master_of(key) if isinstance(store, RedisCluster) else store
        return server.cli(*words)

    def in_control(self) -> Command | None:
        """Return the command that has control at this moment, if one is known to have it."""
        session = self.ask(COMMON + "control", "HGET", COMMON + "control", "session")
        fields = self.ask(COMMON + "members", "HGETALL", COMMON + "members")
        rows = list(fields.values()) if isinstance(fields, dict) else fields[1::2]
        for row in rows:
            name_of, _, beat, *_ = msgspec.msgpack.decode(row, strict=False)
            if name_of.encode() != session:
                continue
            name = json.loads(beat)["name"]
            for node in self.nodes.values():
                if name == f"{node.name}-1" and node.up and not node.paused:
                    return node
            if self.crawl.up and f"-{self.crawl.pid}-" in name:
                return self.crawl
        return None

    def without_buried(self, problems: list[str]) -> list[str]:
        """Leave pages out that were given up because too many members died while they had them.

        They are recorded, as failed; who kills members all the time meets some.
        """
        urls = {line.rpartition(" ")[2] for line in problems if line.startswith(BURIED)}
        self.buried = len(urls)
        return [line for line in problems if line.rpartition(" ")[2] not in urls]

    def counts(self) -> Counts:
        """Return the counters of the one job in the store."""
        return asyncio.run(self._counts())

    async def _counts(self) -> Counts:
        nodes = Nodes(StoreAddress.parse(self.store.url))
        await nodes.open()
        try:
            frontier = RedisFrontier(nodes)
            await frontier.open()
            [job] = await frontier.jobs()
            return await frontier.counts(job)
        finally:
            await nodes.close()


def records_in(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def record_problems(web: LedgerWeb, records: Sequence[Record]) -> list[str]:
    """Compare records with what the web holds: each page once, whichever way it was reached.

    The target of a redirect is one with it in a crawl that nothing happens to. A member that dies
    between the end of the visit and the word that its target is known leaves the target to be
    fetched for its own sake, under its own name.
    """
    plan, port = web.plan, web.port
    times = Counter((record["job"], record["url"], record["visit"]) for record in records)
    problems = [f"recorded {n} times: {url}" for (_, url, _), n in times.items() if n > 1]
    by_url = {record["url"]: record for record in records}
    wanted: set[str] = set()
    allowed: set[str] = set()
    for number in range(plan.hosts):
        wanted |= {plan.url(number, path, port) for path in plan.paths(number)}
        for hop in range(plan.hops):
            moved = plan.url(number, f"/go/{hop}", port)
            target = plan.url(number + 1, f"/to/{hop}", port)
            wanted.add(moved)
            allowed.add(target)
            found = by_url.get(moved)
            if found is None:
                continue
            if found["outcome"] == "duplicate":
                wanted.add(target)
            elif found["final_url"] != target:
                problems.append(f"led to {found['final_url']}: {moved}")
    problems += [f"lost: {url}" for url in sorted(wanted - by_url.keys())]
    problems += [
        f"recorded for no reason: {url}" for url in sorted(by_url.keys() - wanted - allowed)
    ]
    problems += [
        f"{record['outcome']} ({record['error']}): {record['url']}"
        for record in records
        if record["outcome"] not in {"ok", "duplicate"}
    ]
    return problems


class Clash(NamedTuple):
    """Two requests of which one should not have been made, or not yet."""

    why: str
    before: Asked
    after: Asked


def overlaps(asked: Sequence[Asked]) -> list[Clash]:
    """Return the fetches of one URL that were under way at the same time."""
    latest: dict[str, Asked] = {}
    found: list[Clash] = []
    for request in asked:
        before = latest.get(request.url)
        if before is not None and request.begin < before.end and request.path != ROBOTS:
            found.append(Clash("two fetches at once", before, request))
        if before is None or request.end > before.end:
            latest[request.url] = request
    return found


def rushes(asked: Sequence[Asked], delay_s: float) -> list[Clash]:
    """Return the requests that came sooner after the end of another one of the host than allowed.

    A host is asked one thing at a time, and rests from the end of an answer. The request of a
    member that died ends when its connection breaks.
    """
    latest: dict[str, Asked] = {}
    found: list[Clash] = []
    for request in asked:
        before = latest.get(request.host)
        if before is not None:
            early_ms = delay_s * 1000 - (request.begin - before.end)
            if early_ms > TOLERANCE_MS:
                found.append(Clash(f"too soon by {early_ms:.1f} ms", before, request))
        if before is None or request.end > before.end:
            latest[request.host] = request
    return found


def repeats(asked: Sequence[Asked]) -> dict[str, list[Asked]]:
    """Return the URLs that were answered more than once."""
    by_url: dict[str, list[Asked]] = defaultdict(list)
    for request in asked:
        if request.whole and request.path != ROBOTS:
            by_url[request.url].append(request)
    return {url: answered for url, answered in by_url.items() if len(answered) > 1}


class Span(NamedTuple):
    """From when to when something was broken, in ms as in the log of the web."""

    low: float
    high: float


def told_too_late(request: Asked, spans: Iterable[Span]) -> bool:
    """Tell whether something broke before an answer could be acked, so that it was for nothing."""
    ack_s = ACK_S + HOP_S * request.path.startswith("/go/")
    return any(low - ack_s * 1000 <= request.end and request.begin <= high for low, high in spans)


def repeat_problems(asked: Sequence[Asked], spans: Collection[Span], most: int) -> list[str]:
    """Return the pages that were asked for again and should not have been.

    Only what was in flight when something broke is asked for again, each time so many at ``most``.
    """
    again = repeats(asked)
    problems = [
        f"asked for again for no reason: {first}"
        for answered in again.values()
        for first in answered[:-1]
        if not told_too_late(first, spans)
    ]
    if len(again) > len(spans) * most:
        problems.append(f"{len(again)} pages asked for again after {len(spans)} faults")
    return problems


def count_problems(counts: Counts) -> list[str]:
    """Return what counters are wrong when a crawl is over."""
    ended = counts.done + counts.dead + counts.dropped
    if counts.pending or counts.offered != ended:
        return [f"counters at the end: {counts}"]
    return []


def ledger_problems(
    world: World, *, forgiven_ms: Sequence[float] = (), window_ms: float = 0
) -> list[str]:
    """Return everything that is wrong at the end of a run.

    What was asked for at a time in ``forgiven_ms``, or up to ``window_ms`` before, may be recorded
    twice: it is counted in the world instead. Nothing may be lost, and whoever was asked is asked
    as politely as ever.
    """
    asked = world.web.asked()

    def forgiven(first: Asked) -> bool:
        return any(at - window_ms <= first.end and first.begin <= at for at in forgiven_ms)

    clashes = [*overlaps(asked), *rushes(asked, world.delay_s)]
    told = [str(clash) for clash in clashes]
    again = {url for url, answered in repeats(asked).items() if any(map(forgiven, answered))}
    for problem in record_problems(world.web, records_in(world.out)):
        if problem.startswith("recorded 2 times") and problem.rpartition(" ")[2] in again:
            world.forgiven += 1
        else:
            told.append(problem)
    told = world.without_buried(told)
    told += [
        f"{command.name} broke:\n{command.told[-2000:]}"
        for command in (world.crawl, *world.nodes.values())
        if "Traceback" in command.told or "internal error" in command.told
    ]
    return told + count_problems(world.counts())


def now_ms() -> float:
    """Return the time as the log of the web has it."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) * 1000
