"""Shares that follow speeds, with real processes: ``python -m bench.shares``.

Three members work at 360, 420 and 480 pages a minute; the first one speeds up to 420 after 30
minutes and to 480 after 50. A minute lasts a second here, for the members as for their control, and
by default every member works on a quarter of the pages, so that a busy machine can keep up. The
shares of slots and pages are compared with those of the speeds ten minutes after the start and
after each change, and drawn for ``docs/scale.md``. 1 is answered when one is off by more than 3 %,
2 when the machine was too busy for the speeds that were set.
"""

import argparse
import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bench.bloom_svg import Axis, Plot, Series
from bench.crawlers import need_packages
from bench.drawn import place
from bench.memory import Urls
from bench.paths import OUT, ROOT
from bench.redis_server import redis_running
from skitter.frontier.model import JobEntry
from skitter.frontier.redis.address import StoreAddress
from skitter.frontier.redis.frontier import RedisFrontier
from skitter.frontier.redis.nodes import Nodes
from skitter.url.partition import SLOTS

SPEEDS = {"first": 360.0, "second": 420.0, "third": 480.0}
CHANGES = {30: 420.0, 50: 480.0}
"""Minutes to the speed of the first member from then on."""
MINUTES = 70
LOOKS = (10, 40, 60)
"""Ten minutes after the start and after each change."""
WINDOW_MINUTES = 10
BAR = 0.03
TOO_BUSY = 0.95
URLS, HOSTS = 120_000, 4_000
PAGE = ROOT / "docs" / "scale.md"
_OFFER = 2_000
_TELLING = 60.0
_CALM_S = 2.0
_JOB = JobEntry(id="shares", delay_ms=0, queue_bound=1 << 40)


@dataclass(slots=True, eq=False)
class Told:
    """What one member has told, and when, by the clock of the loop."""

    process: asyncio.subprocess.Process
    minute_s: float
    began: float = 0.0
    at: list[float] = field(default_factory=list)
    pages: list[int] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)

    def give(self, speed: float) -> None:
        """Set the speed, in pages a minute."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{speed / self.minute_s}\n".encode())

    async def listen(self) -> None:
        """Take in what it tells."""
        clock = asyncio.get_running_loop().time
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            facts = json.loads(line)
            self.at.append(clock())
            self.pages.append(facts["pages"])
            self.slots.append(facts["slots"])

    def until(self, minute: float, what: Sequence[int]) -> float:
        """Return something at a moment, between two tellings in proportion."""
        moment = self.began + minute * self.minute_s
        after = next((n for n, at in enumerate(self.at) if at >= moment), len(self.at) - 1)
        before = max(0, after - 1)
        span = self.at[after] - self.at[before]
        part = min(1.0, max(0.0, (moment - self.at[before]) / span)) if span else 0.0
        return what[before] + (what[after] - what[before]) * part


Fleet = Mapping[str, Told]


@asynccontextmanager
async def members(url: str, minute_s: float) -> AsyncIterator[Fleet]:
    """Run a process for each member."""
    pipe = asyncio.subprocess.PIPE
    window_s = WINDOW_MINUTES * minute_s
    fleet = {}
    try:
        for name in SPEEDS:
            command = (sys.executable, "-m", "bench.shares_member", url, name, str(window_s))
            process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
            fleet[name] = Told(process, minute_s)
        yield fleet
    finally:
        for told in fleet.values():
            if told.process.stdin is not None:
                told.process.stdin.close()
        for told in fleet.values():
            await told.process.wait()


async def offer(url: str) -> None:
    """Queue URLs enough for everyone, all the time."""
    nodes = Nodes(StoreAddress.parse(url))
    await nodes.open()
    frontier = RedisFrontier(nodes)
    await frontier.open()
    source = Urls(HOSTS, frontier.secret, await frontier.put_job(_JOB))
    for first in range(0, URLS, _OFFER):
        await frontier.offer([source.link(n) for n in range(first, first + _OFFER)])
    await frontier.close()
    await nodes.close()


async def experiment(url: str, minute_s: float, effort: float) -> Fleet:
    """Run it; ``effort`` is the part of the pages that are worked on."""
    await offer(url)
    clock = asyncio.get_running_loop().time
    async with members(url, minute_s) as fleet, asyncio.TaskGroup() as group:
        listening = [group.create_task(told.listen()) for told in fleet.values()]
        await _all_have_some(fleet)
        await asyncio.sleep(_CALM_S)
        began = clock()
        for name, told in fleet.items():
            told.began = began
            told.give(SPEEDS[name] * effort)
        for minute, speed in CHANGES.items():
            await asyncio.sleep(began + minute * minute_s - clock())
            fleet["first"].give(speed * effort)
        await asyncio.sleep(began + MINUTES * minute_s - clock())
        for task in listening:
            task.cancel()
    return fleet


async def _all_have_some(fleet: Fleet) -> None:
    deadline = asyncio.get_running_loop().time() + _TELLING
    while sum(told.slots[-1] if told.slots else 0 for told in fleet.values()) < SLOTS:
        if asyncio.get_running_loop().time() > deadline:
            raise TimeoutError("the members do not share the slots out")
        await asyncio.sleep(0.05)


def speeds_at(minute: float) -> dict[str, float]:
    """Return the speeds that are set at a moment."""
    speeds = dict(SPEEDS)
    for since, speed in CHANGES.items():
        if minute > since:
            speeds["first"] = speed
    return speeds


def wanted(minute: float) -> dict[str, float]:
    """Return the shares of the speeds at a moment."""
    return _parts(speeds_at(minute))


def slots_at(fleet: Fleet, minute: float) -> dict[str, float]:
    """Return the part of the slots that each member may claim from."""
    return _parts({name: told.until(minute, told.slots) for name, told in fleet.items()})


def pages_at(fleet: Fleet, minute: float, over: float) -> dict[str, float]:
    """Return the part of the pages that each one brought in some minutes before a moment."""
    return _parts(
        {
            name: told.until(minute, told.pages) - told.until(minute - over, told.pages)
            for name, told in fleet.items()
        }
    )


def kept(fleet: Fleet) -> float:
    """Return how evenly members were kept from their speeds by others on the machine; 1 is fine."""
    least = 1.0
    for minute in LOOKS:
        speeds = speeds_at(minute)
        pages = pages_at(fleet, minute, WINDOW_MINUTES)
        reached = [pages[name] / speed for name, speed in speeds.items()]
        least = min(least, min(reached) / max(reached))
    return least


def _parts(amounts: Mapping[str, float]) -> dict[str, float]:
    total = sum(amounts.values()) or 1.0
    return {name: amount / total for name, amount in amounts.items()}


def table(fleet: Fleet) -> tuple[list[str], float]:
    """Return what was found as a table, and how far the worst share was off."""
    lines = ["| after | member | speed | slots | off | pages of the last ten minutes | off |"]
    lines.append("|---|---|---|---|---|---|---|")
    worst = 0.0
    for minute in LOOKS:
        right = wanted(minute)
        slots, pages = slots_at(fleet, minute), pages_at(fleet, minute, WINDOW_MINUTES)
        for name, share in right.items():
            off = [found[name] / share - 1 for found in (slots, pages)]
            worst = max(worst, *map(abs, off))
            lines.append(
                f"| {minute} min | {name} | {share:.2%} | {slots[name]:.2%} | {off[0]:+.1%}"
                f" | {pages[name]:.2%} | {off[1]:+.1%} |"
            )
    return lines, worst


def plot(fleet: Fleet) -> Plot:
    """Draw shares of slots, and what they ought to be."""
    moments = [minute / 2 for minute in range(2 * MINUTES + 1)]
    series = []
    for colour, name in enumerate(SPEEDS):
        right = [(minute, wanted(minute)[name] * 100) for minute in moments]
        found = [(minute, slots_at(fleet, minute)[name] * 100) for minute in moments]
        series.append(Series("", right, "dashes", colour))
        series.append(Series(f"{name}: {SPEEDS[name]:.0f} pages/min", found, "line", colour))
    return Plot(
        "Slots follow the speed of members (dashed: the share of the speed)",
        Axis("minutes, each a second long", [(n, str(n)) for n in range(0, 71, 10)], 0, MINUTES),
        Axis("share of all slots", [(n, f"{n} %") for n in range(28, 41, 2)], 27, 40),
        series,
        notes=[(30, "first: 420"), (50, "first: 480")],
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.shares", description=__doc__)
    parser.add_argument("--minute", type=float, default=1.0, help="seconds a minute lasts")
    parser.add_argument("--effort", type=float, default=0.25, help="part of the pages worked on")
    parser.add_argument("--draw", action="store_true", help="write the picture for the docs")
    given = parser.parse_args()
    need_packages(**{"redis-server": "redis-server", "taskset": "util-linux"})
    home = OUT / "shares"
    shutil.rmtree(home, ignore_errors=True)
    with redis_running(home, core=0) as server:
        fleet = asyncio.run(experiment(server.url, given.minute, given.effort))
    lines, worst = table(fleet)
    figures = "\n".join(lines)
    print(figures)
    print(f"\nThe worst share is off by {worst:.1%}; the bar is {BAR:.0%}.")
    if (least := kept(fleet)) < TOO_BUSY:
        print(f"It says nothing: one was kept to {least:.0%} of its speed, the machine is busy.")
        return 2
    if given.draw:
        PAGE.with_name("scale-shares.svg").write_text(plot(fleet).svg(), encoding="utf-8")
        place(PAGE, "python -m bench.shares --draw", figures)
    return int(worst > BAR)


if __name__ == "__main__":
    sys.exit(main())
