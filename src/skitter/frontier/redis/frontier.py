"""The frontier on Redis or Valkey: the queue of many members, each with slots of its own.

Every verb is one script per tag it concerns, and every script may be called twice. The times that
decide are the server's.
"""

import math
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b

from skitter.clock import Clock
from skitter.errors import ConfigError
from skitter.frontier.base import OWNER_TTL_MS
from skitter.frontier.cold.base import ColdStore
from skitter.frontier.limits import Permit, TokenWish, Wish
from skitter.frontier.model import (
    LEASE_MS,
    Ack,
    Claim,
    Freed,
    Grant,
    JobEntry,
    JobState,
    Lease,
    Link,
    Receipt,
    SeenOptions,
)
from skitter.frontier.pages.base import PageStore
from skitter.frontier.redis.address import LAYOUT_VERSION
from skitter.frontier.redis.agenda import Agenda
from skitter.frontier.redis.control import Control
from skitter.frontier.redis.core import Core
from skitter.frontier.redis.events import Events
from skitter.frontier.redis.gates import Gates
from skitter.frontier.redis.handout import Handout
from skitter.frontier.redis.home import index_home, refuse_other, settle_index, told_home
from skitter.frontier.redis.intake import Intake
from skitter.frontier.redis.library import library
from skitter.frontier.redis.marks import Marks
from skitter.frontier.redis.moving import Moving
from skitter.frontier.redis.nodes import Nodes
from skitter.frontier.redis.owning import Owning
from skitter.frontier.redis.pages import READING_S, Pages
from skitter.frontier.redis.questions import Questions
from skitter.frontier.redis.reading import Reading
from skitter.frontier.redis.series import SeriesBook
from skitter.frontier.redis.stirs import Stirs
from skitter.frontier.redis.tails import USUAL_SIZES, Sizes, Tails
from skitter.frontier.redis.tuning import Tuner
from skitter.frontier.redis.turns import Turns
from skitter.frontier.redis.vultures import Vultures
from skitter.frontier.redis.windows import Windows
from skitter.frontier.tuning import Rules, Tuning
from skitter.types import Fingerprint, HostKey, JobNumber, PageClass
from skitter.url.partition import TAGS


class RedisFrontier(Questions):
    """Implements ``Frontier``, ``FrontierControl`` and ``FrontierReader`` on a store in common.

    The connections are the caller's to open and close. With ``virtual`` the given clock takes the
    place of the store's: for tests. ``seen`` is for jobs that are put here first.
    """

    def __init__(
        self,
        nodes: Nodes,
        *,
        clock: Clock | None = None,
        virtual: bool = False,
        seen: SeenOptions | None = None,
    ) -> None:
        self._nodes = nodes
        self._core = core = Core(nodes, clock, virtual, seen or SeenOptions())
        self.keys = core.keys
        self.clock: Clock = core.clock
        """The time of the store, and the boot clock of this machine."""
        self.secret = b""
        """Key of this store's fingerprints."""
        self._agenda = Agenda()
        self._owning = Owning(core)
        self._tails = tails = Tails(core, self._agenda)
        marks = Marks(nodes, core.keys)
        self._pages = pages = Pages()
        self._intake = Intake(core, self._owning, self._agenda, marks, tails, pages)
        self._control = Control(core, self._agenda, tails, pages)
        self._handout = Handout(core, self._owning, self._agenda, tails, self._control.unpark)
        self._gates = Gates(core, self._owning, self._agenda)
        self._turns = Turns(core)
        self._windows = Windows(core)
        self._tuner = Tuner(core, self._agenda)
        self._reading = Reading(nodes, core.keys, core.now_word, tails, pages)
        self._events = Events(nodes, core.keys)
        self._stirs = Stirs(nodes, core.keys, self._agenda)
        self._series = SeriesBook(nodes, core.keys, core.clock.now_ms)
        self.moving = Moving(core, self._owning)
        """Hosts that are moved out of crowded slots."""

    def vultures(self, is_stale: Callable[[bytes], bool], **sizes: int) -> Vultures:
        """Return what clears the store of things nobody needs any more."""
        return Vultures(self._core, is_stale, **sizes)

    async def open(self) -> None:
        """Make the store ready: its scripts, and what it says of itself."""
        await self._nodes.load(library())
        await self._core.open()
        self.secret = await self._prepare()
        await self._find_pages()

    async def open_to_read(self) -> bool:
        """Make ready for questions alone: nothing is written. False when no crawl is there."""
        meta = self._core.keys.meta
        secret = await self._nodes.run(meta, "HGET", meta, "secret")
        if secret is None:
            return False
        await self._nodes.load(library(), when_missing=True)
        self.secret = bytes(secret)
        await self._find_pages()
        return True

    async def _find_pages(self) -> None:
        """Find out whether the page index is elsewhere."""
        if home := await index_home(self._nodes, self.keys):
            self._pages.miss(home.shown)

    async def _prepare(self) -> bytes:
        """Check or write what the store says of itself; answers its secret."""
        nodes, keys = self._nodes, self._core.keys
        meta = keys.meta
        version, secret, anchors = await nodes.run(
            meta, "HMGET", meta, "version", "secret", "anchors"
        )
        if version is None or secret is None:
            # Whoever comes first decides; all read what is there then.
            fresh = secrets.token_bytes(16)
            await nodes.run(meta, "HSETNX", meta, "secret", fresh)
            await nodes.run(meta, "HSETNX", meta, "created", self.clock.now_ms())
            await nodes.run(meta, "HSETNX", meta, "version", LAYOUT_VERSION)
            secret = await nodes.run(meta, "HGET", meta, "secret")
        if anchors is None:
            names = [keys.anchor(tag) for tag in range(TAGS)]
            await nodes.run_many([(name, ("HSETNX", name, "v", LAYOUT_VERSION)) for name in names])
            await nodes.run(meta, "HSET", meta, "anchors", TAGS)
        return bytes(secret)

    async def keep_tails(self, cold: ColdStore, sizes: Sizes = USUAL_SIZES) -> None:
        """Keep the tails of long queues in an open cold store; a store has one for good."""
        nodes, keys = self._nodes, self._core.keys
        await nodes.run(keys.meta, "HSETNX", keys.meta, "cold", cold.identity)
        if await self.cold_identity() != cold.identity:
            raise ConfigError("--cold: this store keeps its long queues in another database")
        names = [keys.anchor(tag) for tag in range(TAGS)]
        await nodes.run_many([(name, ("HSET", name, "cold", str(sizes))) for name in names])
        self._tails.use(cold)

    async def keep_pages(self, store: PageStore, patience_s: float = math.inf) -> None:
        """Keep the page index in an open store; it has one for good.

        Questions to a page index in trouble wait until it is over where calls to the store do, else
        for ``READING_S``; acks wait in any case.
        """
        await settle_index(self._nodes, self.keys, store)
        self._pages.use(store, patience_s if math.isinf(patience_s) else READING_S)

    async def read_pages(self, store: PageStore) -> None:
        """Read the page index from an open store, if this one has it elsewhere."""
        if home := await index_home(self._nodes, self.keys):
            refuse_other(home, store)
            self._pages.use(store, READING_S)

    @property
    def has_pages_elsewhere(self) -> bool:
        """Whether the page index is not in Redis itself."""
        return self._pages.elsewhere

    def require_pages(self) -> None:
        """Raise when the page index is elsewhere, and this process was not told how to get in."""
        self._pages.require()

    async def told_home(self) -> str:
        """Return in a line for a person where the page index is."""
        return await told_home(self._nodes, self.keys)

    def space(self, kind: bytes) -> str:
        """Return what sets this store apart from others with such things in the same database."""
        digest = blake2b(self.secret, digest_size=8, person=kind).hexdigest()
        return f"{self._nodes.address.namespace}-{digest}"

    @property
    def cold_space(self) -> str:
        """What sets this store apart from others whose tails are in the same database."""
        return self.space(b"cold")

    @property
    def pages_space(self) -> str:
        """What sets this store apart from others whose page index is in the same database."""
        return self.space(b"pages")

    async def cold_identity(self) -> str:
        """Return which cold store has the tails of long queues; "" for none."""
        meta = self._core.keys.meta
        identity = await self._nodes.run(meta, "HGET", meta, "cold")
        return identity.decode() if identity is not None else ""

    async def close(self) -> None:
        """End what is under way; what is owned lapses, or was disowned."""
        await self._events.close()
        await self._stirs.close()
        await self._tails.close()

    @property
    def trouble(self) -> str:
        """Why the verbs wait, in words; "" while the store answers."""
        return self._nodes.trouble or self._pages.trouble or self._tails.trouble

    async def own(
        self, member: str, slots: Iterable[int], ttl_ms: int = OWNER_TTL_MS
    ) -> list[Grant]:
        """Take or keep slots."""
        return await self._owning.own(member, slots, ttl_ms)

    async def disown(self, grants: Iterable[Grant]) -> None:
        """Give slots back."""
        await self._owning.disown(grants)

    async def offer(self, links: Sequence[Link]) -> Receipt:
        """Queue the links that are new to their job."""
        if self.rules:
            await self._tuner.introduce(link.host for link in links)
        receipt = await self._intake.offer(links)
        if receipt.new:
            await self._stirs.tell({self.keys.tag_of_host(link.host) for link in links})
        return receipt

    async def claim(
        self,
        grants: Sequence[Grant],
        k: int,
        *,
        lease_ms: int = LEASE_MS,
        freed: Sequence[Freed] = (),
    ) -> Claim:
        """Lease up to ``k`` URLs."""
        return await self._handout.claim(grants, k, lease_ms, freed)

    async def ack(
        self,
        acks: Sequence[Ack],
        *,
        marks: Mapping[str, bytes] | None = None,
        news: Mapping[str, bytes] | None = None,
    ) -> Receipt:
        """End leases and queue what their pages linked to; marks and news come before."""
        if self.rules:
            await self._tuner.introduce(link.host for ack in acks for link in ack.links)
        return await self._intake.ack(acks, marks or {}, news or {})

    async def renew(self, leases: Sequence[Lease], lease_ms: int = LEASE_MS) -> list[int]:
        """Prolong leases."""
        return await self._handout.renew(leases, lease_ms)

    async def enter(
        self,
        lease: Lease,
        host: HostKey,
        at_most_ms: int | None = None,
        target: Fingerprint | None = None,
    ) -> int:
        """Take another host's gate under a lease."""
        if self.rules:
            await self._tuner.introduce([host])
        return await self._gates.enter(lease, host, at_most_ms, target)

    async def reserve(self, lease: Lease, host: HostKey, target: Fingerprint) -> int:
        """Keep the target of a redirect from being handed out."""
        return await self._gates.reserve(lease, host, target)

    async def turn(
        self, lease: Lease, host: HostKey, delay_ms: int, at_most_ms: int | None = None
    ) -> int:
        """Ask a host once more under the gate that a lease holds."""
        return await self._turns.turn(lease, host, delay_ms, at_most_ms)

    async def lock(self, name: str, holder: int, ttl_ms: int) -> int:
        """Take, keep or give back a lock."""
        return await self._turns.lock(name, holder, ttl_ms)

    async def permit(self, wanted: Sequence[Wish]) -> list[Permit]:
        """Grant what rate windows allow."""
        return await self._windows.permit(wanted)

    async def tokens(self, holder: str, wanted: Sequence[TokenWish], ttl_ms: int) -> list[int]:
        """Take, keep or give back tokens."""
        return await self._windows.tokens(holder, wanted, ttl_ms)

    async def share(self, values: Mapping[str, bytes], ttl_ms: int) -> None:
        """Let everyone have values for a while."""
        await self._windows.share(values, ttl_ms)

    async def shared(self, names: Sequence[str]) -> list[bytes | None]:
        """Return the values that are there."""
        return await self._windows.shared(names)

    async def publish(self, events: Sequence[bytes]) -> None:
        """Add events to the stream of the store."""
        await self._events.publish(events)

    async def count(self, counts: Mapping[str, int], at_ms: int) -> None:
        """Add to counters over time."""
        await self._series.add(counts, at_ms)

    async def count_urls(self, urls: Mapping[str, int]) -> None:
        """Count how often URLs were submitted."""
        await self._series.add_urls(urls)

    async def put_job(self, entry: JobEntry) -> JobNumber:
        """Create or update a job."""
        return await self._control.put_job(entry)

    async def set_job_state(self, job: JobNumber, state: JobState) -> None:
        """Run, pause or cancel a job."""
        await self._control.set_state(job, state)
        await self._stirs.tell(None)

    async def drop_job(self, job: JobNumber) -> None:
        """Forget a job and everything of it."""
        await self._control.drop_job(job)

    async def clear(self, job: JobNumber, page_class: PageClass) -> int:
        """Forget the waiting URLs of one class."""
        return await self._control.clear(job, page_class)

    async def forget(
        self, job: JobNumber, host: HostKey, fp: Fingerprint, again: bool = False
    ) -> bool:
        """Make one URL unknown."""
        return await self._control.forget(job, host, fp, again=again)

    async def set_host(
        self,
        host: HostKey,
        *,
        delay_ms: int | None = None,
        per_host: int | None = None,
        not_before_ms: int | None = None,
    ) -> None:
        """Change how a host is asked."""
        await self._control.set_host(host, delay_ms, per_host, not_before_ms)

    @property
    def rules(self) -> Rules:
        """How hosts are asked, where an operator says so."""
        return self._core.rules

    @rules.setter
    def rules(self, rules: Rules) -> None:
        self._core.rules = rules

    async def tune(self, tuning: Tuning) -> int:
        """Change the gates of known hosts."""
        return await self._tuner.tune(tuning)
