"""Changes the gates of known hosts when an operator says so, and tells the store of new ones.

The hosts of a job are sets in the tags. They are walked over, a thousand names at a time, and only
those that are concerned are sent back.
"""

from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Sequence

from skitter.frontier.redis.agenda import Agenda
from skitter.frontier.redis.core import Ask, Core
from skitter.frontier.redis.line import Word
from skitter.frontier.redis.wire import read_hint
from skitter.frontier.tuning import DRAIN_MS, HostRule, Tuning
from skitter.types import HostKey
from skitter.url.partition import TAGS

NAMES_AT_ONCE = 1_000
TAGS_AT_ONCE = 32
HOSTS_PER_CALL = 100
TOLD = 1 << 16
TOLD_S = 1_800.0
"""After this long a host may have left the store, and is told of anew."""
AS_JOB = "job"
LEAVE = ""


class Tuner:
    """How operators and gates come together."""

    def __init__(self, core: Core, agenda: Agenda) -> None:
        self._core = core
        self._agenda = agenda
        self._told: OrderedDict[HostKey, float] = OrderedDict()

    async def introduce(self, hosts: Iterable[HostKey]) -> None:
        """Tell the store how hosts are asked that it may be about to meet."""
        core = self._core
        since = core.clock.boot() - TOLD_S
        asked: dict[int, list[Word]] = {}
        for host in {host for host in hosts if self._told.get(host, since) <= since}:
            rule = core.rules(host)
            self._remember(host)
            if rule.delay_ms is not None or rule.per_host is not None:
                place = core.host(host)
                words = asked.setdefault(place.slot % TAGS, [])
                words += (host, place.slot, place.domain, _word(rule.delay_ms, LEAVE))
                words.append(_word(rule.per_host, LEAVE))
        await core.call_many([(tag, "introduce", tuple(words)) for tag, words in asked.items()])

    def _remember(self, host: HostKey) -> None:
        self._told[host] = self._core.clock.boot()
        if len(self._told) > TOLD:
            self._told.popitem(last=False)

    async def tune(self, tuning: Tuning) -> int:
        """Change the gates a tuning concerns; answers of how many hosts."""
        known: set[HostKey] = set()
        if tuning.host is not None:
            # The one that is meant first of all does not wait for a walk.
            await self._tune([tuning.host], tuning)
        async for names in self._hosts(tuning.glob):
            some = {host for host in names if tuning.covers(host)} - known
            known |= some
            await self._tune(sorted(some), tuning)
        if tuning.drains:
            await self._hurry(tuning)
        return len(known)

    async def _tune(self, hosts: Sequence[HostKey], tuning: Tuning) -> None:
        if not (tuning.delays or tuning.per_hosts or tuning.drains):
            return
        await tuning.refresh()
        by_tag: dict[int, list[HostKey]] = {}
        for host in hosts:
            by_tag.setdefault(self._core.keys.tag_of_host(host), []).append(host)
        asked: list[Ask] = []
        for tag, some in by_tag.items():
            for at in range(0, len(some), HOSTS_PER_CALL):
                words = [_words(host, tuning) for host in some[at : at + HOSTS_PER_CALL]]
                asked.append((tag, "tune", tuple(word for group in words for word in group)))
        answers = await self._core.call_many(asked)
        for (tag, _, _), answer in zip(asked, answers, strict=True):
            self._agenda.improve(tag, read_hint(answer))

    async def _hosts(self, glob: str) -> AsyncIterator[list[HostKey]]:
        """Yield the hosts that the jobs of the store have met; some come more than once."""
        keys = self._core.keys
        jobs = await self._core.entries()
        met = [keys.met(tag, job) for job in jobs for tag in range(TAGS)]
        async for _, names in self._scan(met, "SSCAN", glob):
            yield [HostKey(name.decode()) for name in names]

    async def _scan(
        self, names: Sequence[str], verb: str, glob: str
    ) -> AsyncIterator[tuple[str, list[bytes]]]:
        for first in range(0, len(names), TAGS_AT_ONCE):
            cursors = dict.fromkeys(names[first : first + TAGS_AT_ONCE], b"0")
            while cursors:
                step = [
                    (key, (verb, key, cursor, "MATCH", glob, "COUNT", NAMES_AT_ONCE))
                    for key, cursor in cursors.items()
                ]
                answers = await self._core.nodes.run_many(step)
                for key, (cursor, words) in zip(list(cursors), answers, strict=True):
                    if words:
                        yield key, words
                    if cursor == b"0":
                        del cursors[key]
                    else:
                        cursors[key] = cursor

    async def _hurry(self, tuning: Tuning) -> None:
        """Let scheduled URLs come at once: nobody has to wait before they are ended."""
        due = {self._core.keys.due(tag): tag for tag in range(TAGS)}
        async for key, words in self._scan(list(due), "ZSCAN", f"*:{tuning.glob}"):
            members = [member for member in words[::2] if _is_drained(member, tuning)]
            for at in range(0, len(members), HOSTS_PER_CALL):
                some = tuple(members[at : at + HOSTS_PER_CALL])
                await self._core.call(due[key], "hurry", *some)


def _is_drained(member: bytes, tuning: Tuning) -> bool:
    host = HostKey(member.split(b":", 2)[2].decode())
    return tuning.covers(host) and tuning.rule(host).drains


def _words(host: HostKey, tuning: Tuning) -> tuple[Word, Word, Word, Word]:
    rule: HostRule = tuning.rule(host)
    return (
        host,
        _word(rule.delay_ms, AS_JOB) if tuning.delays else LEAVE,
        _word(rule.per_host, AS_JOB) if tuning.per_hosts else LEAVE,
        (DRAIN_MS if rule.drains else 0) if tuning.drains else LEAVE,
    )


def _word(value: int | None, nothing: str) -> Word:
    return nothing if value is None else value
