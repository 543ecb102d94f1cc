"""What the verbs share: the store, its clock, this session, its jobs, and calls of scripts."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from skitter.clock import Clock, StoreClock
from skitter.errors import FrontierError
from skitter.frontier.model import JobEntry, Lease, SeenOptions
from skitter.frontier.redis.keys import Keys
from skitter.frontier.redis.library import function
from skitter.frontier.redis.line import Word
from skitter.frontier.redis.nodes import Call, Nodes
from skitter.frontier.redis.sets import seen_fields
from skitter.frontier.redis.wire import NO_JOB, Host, pack_host
from skitter.frontier.tuning import NoRules, Rules
from skitter.types import HostKey, JobNumber
from skitter.url.domain import registered_domain
from skitter.url.host import host_name
from skitter.url.partition import TAGS, Partition, slot_in

_HOSTS_KEPT = 1 << 16
_FIRST_SESSION, _LAST_SESSION = 1_000_000, 8_999_999

_encode_job = msgspec.json.Encoder().encode
_decode_job = msgspec.json.Decoder(JobEntry).decode

Ask = tuple[int, str, tuple[Word, ...]]
"""A call of a script: tag, verb, arguments behind the time."""


class NoSuchJob(FrontierError):
    """The job was dropped, or never was."""


class Entered:
    """What the redirects of one lease took, or wait for."""

    __slots__ = ("hosts", "slot", "targets")

    def __init__(self, slot: int) -> None:
        self.slot = slot
        self.hosts: set[HostKey] = set()
        """Hosts whose gates it may hold, or URLs on which are reserved for it."""
        self.targets: set[HostKey] = set()
        """Those with reserved URLs: these stay so when the gate is let go."""

    def let_go(self, host: HostKey) -> None:
        """Take note that the gate of a host is not held."""
        if host not in self.targets:
            self.hosts.discard(host)


class Core:
    """State and small steps used by more than one verb."""

    def __init__(self, nodes: Nodes, clock: Clock | None, virtual: bool, seen: SeenOptions) -> None:
        self.nodes = nodes
        self.keys = Keys(nodes.address.namespace)
        self.clock = clock if clock is not None and virtual else StoreClock(clock)
        self.virtual = virtual
        self.session = ""
        """The number of this opening; the first digits of its leases."""
        self.entered: dict[int, Entered] = {}
        """What the redirects of leases took, or wait for."""
        self.leased: dict[int, int] = {}
        """Leases that were given here and not acked, with their tags."""
        self.one_server = False
        """Whether calls that are made together happen in order, as a rule."""
        self.changes = 0
        """Grows when entries of jobs are known to have changed."""
        self.rules: Rules = NoRules()
        """How hosts are asked, where an operator says so."""
        self._seen = seen
        self._jobs: dict[JobNumber, JobEntry] = {}
        self.host = lru_cache(_HOSTS_KEPT)(self._host)

    def _host(self, name: HostKey, kind: Partition = Partition.HOST) -> Host:
        bare = host_name(name)
        return pack_host(name, slot_in(name, kind), registered_domain(bare) or bare)

    def host_in(self, job: JobNumber, name: HostKey) -> Host:
        """Return a host with the slot it has in a job, whose entry was asked for before."""
        entry = self._jobs.get(job)
        kind = entry.partition if entry is not None else Partition.HOST
        return self.host(name) if kind is Partition.HOST else self.host(name, kind)

    def has_outbox(self, job: JobNumber) -> bool:
        """Tell whether records of a job wait for who writes them; perhaps, if it is not known."""
        entry = self._jobs.get(job)
        return entry is None or entry.outbox

    async def open(self) -> None:
        """Learn what the store is like."""
        told = await self.nodes.run(self.keys.meta, "INFO", "cluster")
        self.one_server = b"cluster_enabled:1" not in told
        # Drawn numbers of many members would meet one day; counted ones do not.
        count = await self.nodes.run(self.keys.meta, "HINCRBY", self.keys.meta, "sessions", 1)
        self.session = str(_FIRST_SESSION + count % (_LAST_SESSION - _FIRST_SESSION))
        seconds, micros = await self.nodes.run(self.keys.meta, "TIME")
        self.tell_time(int(seconds) * 1000 + int(micros) // 1000)

    def tell_time(self, store_ms: int) -> None:
        """Take the time of the store at this moment."""
        if isinstance(self.clock, StoreClock):
            self.clock.set(store_ms)

    def now_word(self) -> int:
        """Return the time of a test; 0 leaves it to the store."""
        return self.clock.now_ms() if self.virtual else 0

    async def call(self, tag: int, verb: str, *args: Word) -> Any:
        """Call one script."""
        [answer] = await self.call_many([(tag, verb, args)])
        return answer

    async def call_many(self, asked: Sequence[Ask], *, copied: bool = False) -> list[Any]:
        """Call scripts; a tag that has not heard of a job is told and asked again."""
        if not asked:
            return []
        now = self.now_word()
        calls = [
            Call(self.keys.anchor(tag), function(verb), (now, *args)) for tag, verb, args in asked
        ]
        answers = await self.nodes.call_many(calls, copied=copied)
        for at, answer in enumerate(answers):
            while isinstance(answer, bytes) and answer.startswith(NO_JOB):
                await self._teach(JobNumber(int(answer[len(NO_JOB) :])))
                [answer] = await self.nodes.call_many([calls[at]], copied=copied)
            answers[at] = answer
        return answers

    def entered_by(self, lease: Lease) -> Entered:
        """Return what the redirects of a lease took, for more to be noted."""
        return self.entered.setdefault(lease.id, Entered(lease.slot))

    def gates_of(self, lease_id: int) -> Collection[HostKey]:
        """Return the hosts whose gates a lease may hold, or where URLs are reserved for it."""
        entered = self.entered.get(lease_id)
        return entered.hosts if entered is not None else ()

    async def _teach(self, job: JobNumber) -> None:
        """Tell all tags of a job: whoever put it did not come to the end."""
        self._jobs.pop(job, None)
        await self.spread_job(job, await self.entry(job))

    async def spread_job(self, job: JobNumber, entry: JobEntry) -> None:
        """Write a job into every tag."""
        fields: Mapping[str, str] = {
            "state": entry.state,
            "delay": str(entry.delay_ms),
            "per_host": str(entry.per_host),
            "overflow": entry.overflow,
            "limited": "" if entry.pages is None else "1",
            "outbox": "1" if entry.outbox else "0",
            **seen_fields(self._seen),
        }
        words = [word for pair in fields.items() for word in pair]
        await self.call_many([(tag, "put_job", (job, *words)) for tag in range(TAGS)])

    async def store_entry(self, job: JobNumber, entry: JobEntry) -> None:
        """Write a job's entry where all members find it."""
        await self.nodes.run(self.keys.jobs, "HSET", self.keys.jobs, job, _encode_job(entry))
        self._jobs[job] = entry
        self.changes += 1

    async def entry(self, job: JobNumber) -> JobEntry:
        """Return a job's entry or say that there is none; it may be a little out of date."""
        found = self._jobs.get(job)
        return found if found is not None else await self.fresh_entry(job)

    async def fresh_entry(self, job: JobNumber) -> JobEntry:
        """Return a job's entry as it is now."""
        stored = await self.nodes.run(self.keys.jobs, "HGET", self.keys.jobs, job)
        if stored is None:
            raise NoSuchJob(f"there is no job number {job}")
        entry = self._jobs[job] = _decode_job(stored)
        return entry

    async def dropped(self, jobs: Iterable[JobNumber]) -> set[JobNumber]:
        """Return those jobs that the store does not have any more."""
        return set(jobs) - (await self.entries()).keys()

    async def entries(self) -> dict[JobNumber, JobEntry]:
        """Return the entries of all jobs as they are now."""
        words = await self.nodes.run(self.keys.jobs, "HGETALL", self.keys.jobs)
        pairs = zip(words[::2], words[1::2], strict=True)
        self._jobs = {JobNumber(int(number)): _decode_job(entry) for number, entry in pairs}
        return dict(self._jobs)

    def forget_entries(self) -> None:
        """Read entries anew: some have changed."""
        self._jobs.clear()
        self.changes += 1
