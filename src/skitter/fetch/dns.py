"""From a host name to addresses that may be connected to.

Answers are cached with a bound and a lifetime, failures for a shorter one, and any number of
callers asking for one name at one time cause one question. The hosts table is asked first; what it
says is the operator's word, to which the guard leaves private addresses open.
"""

import asyncio
import contextlib
import socket
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from queue import SimpleQueue
from threading import Thread
from typing import NamedTuple

from skitter.clock import Clock, SystemClock
from skitter.errors import AddressRefused, DnsError, FetchError
from skitter.fetch.guard import AddressGuard
from skitter.fetch.hosts import HostsTable


class Aged(NamedTuple):
    """An answer that has been known for a while."""

    addresses: tuple[str, ...]
    left_s: float
    """For how much longer it is good."""


Lookup = Callable[[str], Awaitable[Sequence[str] | Aged]]
"""Asks for the addresses of one name; raises ``OSError`` or ``UnicodeError`` when it has none."""

_LASTING = {socket.EAI_NONAME, socket.EAI_NODATA, socket.EAI_FAIL}


@dataclass(frozen=True, slots=True, kw_only=True)
class DnsOptions:
    """How long answers are kept. Times in seconds."""

    ttl_s: float = 300.0
    """The system's resolver does not tell a record's own lifetime."""
    failure_ttl_s: float = 60.0
    """For a name that does not exist."""
    trouble_ttl_s: float = 5.0
    """For a question that could not be answered (server failure, timeout)."""
    max_names: int = 20_000


class Resolved(NamedTuple):
    """Where a host is."""

    addresses: tuple[str, ...]
    trusted: bool
    """Named by the operator in the hosts table, hence judged less strictly by the guard."""


class _Entry(NamedTuple):
    addresses: tuple[str, ...]
    why: str
    expires_at: float


class Resolver:
    """Resolves names by hosts table, cache and ``lookup``, and lets the guard judge the result."""

    def __init__(
        self,
        guard: AddressGuard,
        *,
        hosts: HostsTable | None = None,
        lookup: Lookup | None = None,
        options: DnsOptions | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.guard = guard
        self._hosts = hosts or HostsTable()
        self._system = ThreadedLookup()
        self._lookup: Lookup = lookup or self._system
        self._options = options or DnsOptions()
        self._now = (clock or SystemClock()).boot
        self._cache: OrderedDict[str, _Entry] = OrderedDict()
        self._flights: dict[str, asyncio.Task[_Entry]] = {}

    async def resolve(self, host: str, *, url: str) -> Resolved:
        """Return the allowed addresses of ``host``, a name or a literal address.

        Raises ``DnsError`` when it has none and ``AddressRefused`` when none is allowed; both
        name ``url``. Addresses the guard refuses are left out of a mixed answer.
        """
        named = self._hosts.get(host)
        trusted = bool(named)
        addresses = named or ((host,) if _is_literal(host) else await self._addresses(host, url))
        reasons = [self.guard.why_not(address, named=trusted) for address in addresses]
        allowed = tuple(a for a, why in zip(addresses, reasons, strict=True) if why is None)
        if not allowed:
            raise AddressRefused(url, next(why for why in reasons if why is not None))
        return Resolved(allowed, trusted=trusted)

    def close(self) -> None:
        """Give up open questions; idempotent."""
        for flight in self._flights.values():
            flight.cancel()
        self._system.close()

    async def _addresses(self, host: str, url: str) -> tuple[str, ...]:
        entry = self._cache.get(host)
        if entry is None or entry.expires_at <= self._now():
            flight = self._flights.get(host)
            if flight is None:
                flight = asyncio.get_running_loop().create_task(self._ask(host))
                self._flights[host] = flight
            entry = await _landed(flight, url)
        else:
            self._cache.move_to_end(host)
        if not entry.addresses:
            raise DnsError(url, entry.why)
        return entry.addresses

    async def _ask(self, host: str) -> _Entry:
        """Ask once and keep the answer; never raises, so that an unwatched flight is silent."""
        options = self._options
        try:
            answer = await self._lookup(host)
            aged = answer if isinstance(answer, Aged) else Aged(tuple(answer), options.ttl_s)
            found = tuple(dict.fromkeys(aged.addresses))
            why, ttl = f"{host} has no address", aged.left_s if found else options.failure_ttl_s
        except socket.gaierror as exc:
            found, why = (), f"{host}: {exc.strerror or exc}"
            ttl = options.failure_ttl_s if exc.errno in _LASTING else options.trouble_ttl_s
        except (OSError, UnicodeError) as exc:
            found, why, ttl = (), f"{host}: {exc}", options.trouble_ttl_s
        finally:
            self._flights.pop(host, None)
        entry = _Entry(found, why, self._now() + ttl)
        self._cache[host] = entry
        self._cache.move_to_end(host)
        if len(self._cache) > options.max_names:
            self._cache.popitem(last=False)
        return entry


async def _landed(flight: "asyncio.Task[_Entry]", url: str) -> _Entry:
    try:
        # The caller's timeout must not take the answer away from the others.
        return await asyncio.shield(flight)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if flight.cancelled() and task is not None and not task.cancelling():
            raise FetchError(url, "the resolver is closed") from None
        raise


def _is_literal(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _getaddrinfo(host: str) -> list[str]:
    # Bytes keep the codec for international names out: names come in ASCII form already.
    found = socket.getaddrinfo(host.encode("ascii"), None, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


_Answer = list[str] | OSError | UnicodeError
_Job = tuple[str, asyncio.AbstractEventLoop, "asyncio.Future[Sequence[str]]"]


class ThreadedLookup:
    """The system's resolver in a few threads of its own.

    The loop's executor has too few threads for a broad crawl and would hold up the end of the
    process while one slow name server is waited for; these threads do neither.
    """

    def __init__(self, threads: int = 32, ask: Callable[[str], list[str]] = _getaddrinfo) -> None:
        self._limit = threads
        self._ask = ask
        self._threads = 0
        self._open = 0
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()

    async def __call__(self, host: str) -> Sequence[str]:
        """Return the addresses of ``host`` in the system's order of preference."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Sequence[str]] = loop.create_future()
        self._open += 1
        self._jobs.put((host, loop, answer))
        if self._open > self._threads and self._threads < self._limit:
            self._threads += 1
            Thread(target=self._work, name="skitter-dns", daemon=True).start()
        return await answer

    def close(self) -> None:
        """Let the threads end once they are done."""
        for _ in range(self._threads):
            self._jobs.put(None)
        self._threads = 0

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            host, loop, answer = job
            result: _Answer
            try:
                result = self._ask(host)
            except (OSError, UnicodeError) as exc:
                result = exc
            # The loop may have ended while the name server was waited for.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._settle, answer, result)

    def _settle(self, answer: "asyncio.Future[Sequence[str]]", result: _Answer) -> None:
        self._open -= 1
        if answer.done():
            return
        if isinstance(result, list):
            answer.set_result(result)
        else:
            answer.set_exception(result)
