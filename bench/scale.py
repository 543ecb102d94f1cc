"""A thousand members and ten million hosts, simulated: ``python -m bench.scale``.

Hosts fall into slots by the hash of the program, slots go to members by its plans. Told and drawn
for ``docs/scale.md``: how even the shares are, in how many tags a member owns slots, and how long
hosts have no owner when members are killed. No store and no network; about a minute or two.
"""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.bloom_svg import Axis, Plot, Series
from bench.drawn import place
from bench.paths import ROOT
from bench.scale_takeover import Takeover, take_over
from skitter.cluster.assignment import moves, tidying
from skitter.url.partition import SLOTS, TAGS, slot_of

HOSTS, FEW_HOSTS = 10_000_000, 10_000
MEMBERS = 1_000
KILLED = 100
SIZES = (2, 5, 10, 20, 50, 100, 200, 500, 1_000)
TIDIED = SLOTS // 100
PAGE = ROOT / "docs" / "scale.md"

Counts = NDArray[np.int64]
Owners = Sequence[str]


def hosts_by_slot(hosts: int) -> Counts:
    """Return how many hosts fall into each slot."""
    counts = np.zeros(SLOTS, dtype=np.int64)
    batch = 1_000_000
    for first in range(0, hosts, batch):
        some = range(first, min(hosts, first + batch))
        slots = np.fromiter((slot_of(f"www.site-{n}.example") for n in some), np.int64)
        counts += np.bincount(slots, minlength=SLOTS)
    return counts


def names(count: int) -> list[str]:
    return [f"member-{number:04}" for number in range(count)]


def after(old: Owners, weights: Mapping[str, float]) -> list[str]:
    """Return the owners after all that has to move has moved."""
    owners = list(old)
    for move in moves(old, weights):
        owners[move.slot] = move.target
    return owners


def tidied(old: Owners, weights: Mapping[str, float]) -> tuple[list[str], int]:
    """Return the owners after tidying up to the end, and how many slots moved for it."""
    owners, moved = list(old), 0
    while found := tidying(owners, weights, TIDIED):
        moved += len(found)
        for move in found:
            owners[move.slot] = move.target
    return owners, moved


def load(owners: Owners, weights: Mapping[str, float], counts: Counts) -> float:
    """Return the largest load of a member for its weight, as a multiple of the mean."""
    row = {name: number for number, name in enumerate(weights)}
    shares = np.bincount([row[name] for name in owners], weights=counts, minlength=len(weights))
    per_weight = shares / np.array(list(weights.values()))
    return float(per_weight.max() * sum(weights.values()) / counts.sum())


def tags(owners: Owners) -> float:
    """Return in how many tags a member owns slots, in the mean."""
    pieces = {(name, slot % TAGS) for slot, name in enumerate(owners)}
    return len(pieces) / len(set(owners))


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """What was found for one number of members."""

    members: int
    slots: float
    hosts: float
    few_hosts: float
    tags: float
    grown_tags: float
    """When members came one by one."""
    tidied_tags: float
    tidied: float
    """The part of the slots that moved for it."""


def by_size(many: Counts, few: Counts) -> list[Size]:
    """Let a cluster grow one by one, and look at it now and then."""
    found, owners = [], [""] * SLOTS
    ones = np.ones(SLOTS, dtype=np.int64)
    for count in range(1, max(SIZES) + 1):
        weights = dict.fromkeys(names(count), 1.0)
        owners = after(owners, weights)
        if count not in SIZES:
            continue
        together = after([""] * SLOTS, weights)
        tidy, moved = tidied(owners, weights)
        size = Size(
            members=count,
            slots=load(owners, weights, ones),
            hosts=load(owners, weights, many),
            few_hosts=load(owners, weights, few),
            tags=tags(together),
            grown_tags=tags(owners),
            tidied_tags=tags(tidy),
            tidied=moved / SLOTS,
        )
        print(size)
        found.append(size)
    return found


def table(found: Sequence[Size]) -> str:
    """Return it as a table."""
    lines = [
        "| members | slots, max/mean | 10 million hosts, max/mean | 10,000 hosts, max/mean |"
        " tags a member | when they come one by one | then tidied up | slots moved for that |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {size.members:,} | {size.slots:.3f} | {size.hosts:.3f} | {size.few_hosts:.2f} |"
        f" {size.tags:.1f} | {size.grown_tags:.1f} | {size.tidied_tags:.1f} | {size.tidied:.0%} |"
        for size in found
    ]
    return "\n".join(lines)


def uneven(counts: Counts) -> tuple[float, float, float]:
    """Let members of very different speed share, lose a tenth and gain a tenth; tell how even."""
    rng = np.random.default_rng(5)
    speeds = {name: float(rng.uniform(0.5, 2.0)) for name in names(MEMBERS + KILLED)}
    weights = dict(list(speeds.items())[:MEMBERS])
    owners = after([""] * SLOTS, weights)
    first = load(owners, weights, counts)
    weights = dict(list(weights.items())[KILLED:])
    owners = after(owners, weights)
    second = load(owners, weights, counts)
    weights |= dict(list(speeds.items())[MEMBERS:])
    return first, second, load(after(owners, weights), weights, counts)


def sentences(even: tuple[float, float, float], taken: Takeover) -> str:
    """Return the rest of it in words."""
    first, second, third = even
    return (
        f"With {MEMBERS:,} members whose speeds are drawn from 0.5 to 2, the largest load for its"
        f" speed is\n{first:.2f} times the mean; {second:.2f} when {KILLED} have gone, {third:.2f}"
        f" when {KILLED} others have come. When {KILLED} are killed at once,\nevery host has a new"
        f" owner after {taken.over_after(taken.killed):.1f} seconds; when {KILLED} join, all have"
        f" their shares after {taken.over_after(taken.joined):.1f}."
    )


def balance_plot(found: Sequence[Size]) -> Plot:
    """Draw how even shares are."""
    return Plot(
        "The largest share of hosts, as a multiple of the mean",
        Axis("members", [(n, f"{n:,}") for n in SIZES], 2, 1000, log=True),
        Axis("largest / mean", [(n / 20, f"{n / 20:.2f}") for n in range(20, 31, 2)], 0.98, 1.5),
        [
            Series("10,000,000 hosts", [(s.members, s.hosts) for s in found], "line", 0),
            Series(
                "10,000 hosts, as far as there are 50 a member",
                [(s.members, s.few_hosts) for s in found if s.members <= 200],
                "line",
                1,
            ),
            Series("slots", [(s.members, s.slots) for s in found], "dashes", 2),
        ],
    )


def tags_plot(found: Sequence[Size]) -> Plot:
    """Draw in how many tags a member owns slots."""
    ticks = [(2.0**n, f"{2**n}") for n in range(9)]
    return Plot(
        "Tags in which a member owns slots: what it asks for, second by second",
        Axis("members", [(n, f"{n:,}") for n in SIZES], 2, 1000, log=True),
        Axis("tags a member", ticks, 1, 256, log=True),
        [
            Series("come together", [(s.members, s.tags) for s in found], "line", 0),
            Series("come one by one", [(s.members, s.grown_tags) for s in found], "line", 1),
            Series("then tidied up", [(s.members, s.tidied_tags) for s in found], "line", 2),
        ],
    )


def takeover_plot(found: Takeover) -> Plot:
    """Draw how hosts find new owners."""
    killed = [(at, (1 - share) * 100) for at, share in found.killed]
    joined = [(at, (1 - share) * 100) for at, share in found.joined]
    return Plot(
        f"Hosts without an owner when {KILLED} of {MEMBERS:,} members change",
        Axis("seconds", [(n, str(n)) for n in range(0, 16, 2)], 0, 15),
        Axis("hosts without an owner", [(n, f"{n} %") for n in range(0, 13, 2)], 0, 12),
        [
            Series(f"{KILLED} killed at once, control among them", killed, "line", 1),
            Series(f"{KILLED} join", joined, "line", 0),
        ],
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--hosts", type=int, default=HOSTS)
    parser.add_argument("--draw", action="store_true", help="write the pictures for the docs")
    given = parser.parse_args()
    began = time.monotonic()
    many, few = hosts_by_slot(given.hosts), hosts_by_slot(FEW_HOSTS)
    found = by_size(many, few)
    taken = take_over(many.tolist(), MEMBERS, KILLED)
    figures = f"{table(found)}\n\n{sentences(uneven(many), taken)}"
    print(figures, f"\n\nTook {time.monotonic() - began:.0f} s.")
    if given.draw:
        place(PAGE, "python -m bench.scale --draw", figures)
        plots = {
            "balance": balance_plot(found),
            "tags": tags_plot(found),
            "takeover": takeover_plot(taken),
        }
        for name, plot in plots.items():
            PAGE.with_name(f"scale-{name}.svg").write_text(plot.svg(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
