"""What operators do to jobs and hosts: states, clearing, forgetting.

Each changes all tags, in steps that no server takes long for. A change is written where all members
find it first, then into the tags; the version grows last, so that whoever has seen it finds all.
"""

from collections.abc import AsyncIterator

import msgspec

from skitter.errors import FrontierError
from skitter.frontier.model import JOB_MARKS, JobEntry, JobState
from skitter.frontier.redis.agenda import Agenda
from skitter.frontier.redis.core import Ask, Core
from skitter.frontier.redis.keys import SPREAD
from skitter.frontier.redis.library import function
from skitter.frontier.redis.marks import scan_hashes
from skitter.frontier.redis.pages import Pages
from skitter.frontier.redis.tails import Tails
from skitter.frontier.redis.wire import fingerprint_words, read_hint, read_unparked
from skitter.types import Fingerprint, HostKey, JobNumber, PageClass
from skitter.url.partition import TAGS

HOSTS_AT_ONCE = 100
RECORDS_AT_ONCE = 400
IN_COLD = 2


class Control:
    """Changes that are asked for by a person or a job, not by the crawl."""

    def __init__(self, core: Core, agenda: Agenda, tails: Tails, pages: Pages) -> None:
        self._core = core
        self._agenda = agenda
        self._tails = tails
        self._pages = pages

    async def put_job(self, entry: JobEntry) -> JobNumber:
        """Create or update a job."""
        core = self._core
        numbers = core.keys.numbers
        job = JobNumber(
            await core.nodes.call(numbers, function("job_number"), entry.id, core.keys.meta)
        )
        before = await self._before(job)
        await core.store_entry(job, entry)
        await core.spread_job(job, entry)
        if before is not None and before.state is not entry.state:
            await self._spread_state(job, entry.state)
        elif before is not None and before.pages != entry.pages:
            await self.unpark(job)
        if before is not None and before.per_host != entry.per_host:
            async for tag, hosts in self._hosts(job):
                # What an operator has set takes the place of what a job says.
                unset = [host for host in hosts if self._is_the_jobs(host)]
                await core.call(tag, "job_hosts", entry.per_host, *unset)
        await self._raise_version()
        return job

    def _is_the_jobs(self, host: bytes) -> bool:
        return self._core.rules(HostKey(host.decode())).per_host is None

    async def _before(self, job: JobNumber) -> JobEntry | None:
        try:
            return await self._core.fresh_entry(job)
        except FrontierError:
            return None

    async def _raise_version(self) -> None:
        await self._core.nodes.run(self._core.keys.version, "INCR", self._core.keys.version)

    async def set_state(self, job: JobNumber, state: JobState) -> None:
        """Run, pause or cancel a job."""
        entry = await self._core.fresh_entry(job)
        if entry.state is JobState.CANCEL and state is not JobState.CANCEL:
            raise FrontierError(f"job {entry.id} is cancelled: it cannot be set to {state}")
        await self._core.store_entry(job, msgspec.structs.replace(entry, state=state))
        await self._spread_state(job, state)
        await self._raise_version()

    async def _spread_state(self, job: JobNumber, state: JobState) -> None:
        core = self._core
        await core.call_many([(tag, "job_state", (job, state)) for tag in range(TAGS)])
        if state is JobState.RUN:
            await self.unpark(job)
        elif state is JobState.CANCEL:
            await self._drop_lines(job)
        self._agenda.doubt(range(TAGS))

    async def unpark(self, job: JobNumber) -> None:
        """Enlist the hosts that were set aside while the job was paused, or at its limit."""
        tags = list(range(TAGS))
        while tags:
            asked: list[Ask] = [(tag, "unpark", (job, HOSTS_AT_ONCE)) for tag in tags]
            answers = await self._core.call_many(asked)
            told = [read_unparked(answer) for answer in answers]
            for tag, (hint, _) in zip(tags, told, strict=True):
                self._agenda.improve(tag, hint)
            tags = [tag for tag, (_, left) in zip(tags, told, strict=True) if left]

    async def _drop_lines(self, job: JobNumber) -> None:
        async for tag, hosts in self._hosts(job):
            while hosts:
                most = RECORDS_AT_ONCE
                done, waits = await self._core.call(tag, "drop_lines", job, most, *hosts)
                hosts = hosts[done:]
                if waits:
                    await self._tails.fetch_or_wait(tag)
        await self._tails.drop_job(job)

    async def _hosts(self, job: JobNumber) -> AsyncIterator[tuple[int, list[bytes]]]:
        """Yield the hosts a job has met, some at a time, each with its tag."""
        keys = [self._core.keys.met(tag, job) for tag in range(TAGS)]
        nodes = self._core.nodes
        sizes = await nodes.run_many([(key, ("SCARD", key)) for key in keys])
        for tag, (key, size) in enumerate(zip(keys, sizes, strict=True)):
            cursor = b"0" if size else b""
            while cursor:
                scan = await nodes.run(key, "SSCAN", key, cursor, "COUNT", HOSTS_AT_ONCE)
                cursor, hosts = scan
                for at in range(0, len(hosts), HOSTS_AT_ONCE):
                    yield tag, hosts[at : at + HOSTS_AT_ONCE]
                if cursor == b"0":
                    break

    async def drop_job(self, job: JobNumber) -> None:
        """Forget a job and everything of it."""
        core = self._core
        self._pages.require()
        entry = await core.fresh_entry(job)
        if entry.state is not JobState.CANCEL:
            await self.set_state(job, JobState.CANCEL)
        for page_class in PageClass:
            await self._clear_due(job, page_class)
        tags = list(range(TAGS))
        while tags:
            left = await core.call_many([(tag, "drop_job", (job,)) for tag in tags])
            tags = [tag for tag, keys in zip(tags, left, strict=True) if keys]
        if self._pages.elsewhere:
            await self._pages.drop_job(job)
        await self._drop_marks(job)
        await core.nodes.run(core.keys.jobs, "HDEL", core.keys.jobs, job)
        await core.nodes.run(core.keys.numbers, "HDEL", core.keys.numbers, entry.id)
        core.forget_entries()
        await self._raise_version()

    async def _drop_marks(self, job: JobNumber) -> None:
        keys, nodes = self._core.keys, self._core.nodes
        await nodes.run(keys.marks, "HDEL", keys.marks, f"outbox:{job}")
        for kind in JOB_MARKS:
            spread = f"{kind}:".startswith(SPREAD)
            hashes = [keys.robots(tag) for tag in range(TAGS)] if spread else [keys.marks]
            async for key, found in scan_hashes(nodes, hashes, f"{kind}:{job}:*"):
                if found:
                    await nodes.run(key, "HDEL", key, *found)

    async def clear(self, job: JobNumber, page_class: PageClass) -> int:
        """Forget the waiting URLs of one class."""
        core = self._core
        if (await core.fresh_entry(job)).state is JobState.CANCEL:
            return 0
        removed = 0
        async for tag, hosts in self._hosts(job):
            while hosts:
                words = (job, page_class.value, RECORDS_AT_ONCE, *hosts)
                forgotten, done, waits = await core.call(tag, "clear", *words)
                removed += forgotten
                hosts = hosts[done:]
                if waits:
                    await self._tails.fetch_or_wait(tag)
        return removed + await self._clear_due(job, page_class)

    async def _clear_due(self, job: JobNumber, page_class: PageClass) -> int:
        removed = 0
        cursors = dict.fromkeys(range(TAGS), b"0")
        while cursors:
            asked: list[Ask] = [
                (tag, "clear_due", (job, page_class.value, cursor))
                for tag, cursor in cursors.items()
            ]
            answers = await self._core.call_many(asked)
            for tag, (cursor, forgotten) in zip(list(cursors), answers, strict=True):
                removed += forgotten
                cursors[tag] = cursor
            cursors = {tag: cursor for tag, cursor in cursors.items() if cursor != b"0"}
        return removed

    async def forget(self, job: JobNumber, host: HostKey, fp: Fingerprint, *, again: bool) -> bool:
        """Make one URL unknown."""
        if self._pages.elsewhere and not again:
            self._pages.require()
        forgotten = await self._forget(job, host, fp, again=again)
        if forgotten and not again and self._pages.elsewhere:
            await self._pages.forget(job, fp)
        return forgotten

    async def _forget(self, job: JobNumber, host: HostKey, fp: Fingerprint, *, again: bool) -> bool:
        tag = self._core.keys.tag_of_host(host)
        searched, misses = 0, 0
        while True:
            words = (job, host, *fingerprint_words(fp), searched, int(again))
            answer: int = await self._core.call(tag, "forget", *words)
            if answer == IN_COLD:
                if await self._tails.forget(job, host, fp):
                    return True
                # It may have come back in between; else it is leased.
                misses += 1
            if answer in (0, 1) or misses > 1:
                return answer == 1
            searched = max(0, -answer)

    async def set_host(
        self,
        host: HostKey,
        delay_ms: int | None,
        per_host: int | None,
        not_before_ms: int | None,
    ) -> None:
        """Change how a host is asked, also before its first URL."""
        place = self._core.host(host)
        tag = place.slot % TAGS
        settings = ["" if value is None else value for value in (delay_ms, per_host, not_before_ms)]
        answer = await self._core.call(tag, "set_host", host, place.slot, place.domain, *settings)
        self._agenda.improve(tag, read_hint(answer))
