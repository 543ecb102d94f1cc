"""How often a member has served which job: so that jobs of one priority get equal shares.

Pure. A count is kept for each job and urgency. What a job is owed because it had nothing for a
while, or lay where others were asked, is at most as much as one claim asks for: it begins where the
others are. Counts are told to scripts as what is beyond that.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from skitter.frontier.model import Lease
from skitter.types import JobNumber

MOST_KEPT = 256
Key = tuple[int, JobNumber]
"""Urgency and job."""


class Shares:
    """Counts what one member has leased."""

    def __init__(self) -> None:
        self._served: dict[Key, int] = {}
        self._level: dict[int, int] = {}
        """By urgency: the most that any job was served."""
        self._owed = 1

    def begin(self, wanted: int) -> None:
        """Begin a claim for so many URLs."""
        self._owed = max(1, wanted)
        if len(self._served) > MOST_KEPT:
            self._served = {key: n for key, n in self._served.items() if self.of(*key) == n}

    def of(self, urgency: int, job: JobNumber) -> int:
        """Return how often a job counts as served."""
        least = self._level.get(urgency, 0) - self._owed
        return max(self._served.get((urgency, job), 0), least)

    def take(self, leases: Iterable[Lease]) -> None:
        """Count what was leased."""
        for lease in leases:
            urgency = 9 - lease.priority
            served = self._served[urgency, lease.job] = self.of(urgency, lease.job) + 1
            self._level[urgency] = max(self._level.get(urgency, 0), served)

    def words(self) -> str:
        """Write for a script how often jobs were served beyond what is not owed to them."""
        if len(self._served) < 2:
            return ""
        beyond = [
            (urgency, job, n - max(0, self._level[urgency] - self._owed))
            for (urgency, job), n in self._served.items()
        ]
        return ",".join(f"{urgency}:{job}:{n}" for urgency, job, n in beyond if n > 0)


def share_out(
    tags: Sequence[int],
    jobs: Mapping[int, Sequence[JobNumber]],
    served: Callable[[JobNumber], int],
    want: int,
    at_once: int,
) -> dict[int, int]:
    """Say how many URLs to ask which tag for: the job that was served least is next each time.

    ``tags`` are in the order of their turns, ``jobs`` says which have something there. No more than
    ``at_once`` tags are asked.
    """
    if len({job for tag in tags for job in jobs[tag]}) < 2:
        chosen = tags[: min(want, at_once)]
        each, more = divmod(want, len(chosen))
        return {tag: each + (at < more) for at, tag in enumerate(chosen)}
    having: dict[JobNumber, list[int]] = {}
    for tag in tags:
        for job in jobs[tag]:
            having.setdefault(job, []).append(tag)
    counts = {job: served(job) for job in having}
    asked: dict[int, int] = {}
    turns = dict.fromkeys(having, 0)
    for _ in range(want):
        job = min(counts, key=counts.__getitem__)
        counts[job] += 1
        places = having[job]
        # As many tags for each job as there is room for all.
        tag = places[turns[job] % min(len(places), max(1, at_once // len(having)))]
        turns[job] += 1
        if tag in asked or len(asked) < at_once:
            asked[tag] = asked.get(tag, 0) + 1
    return asked
