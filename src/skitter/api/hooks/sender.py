"""One message to one receiver.

A receiver's address is written by whoever may add webhooks, so it is guarded like a link: names are
resolved and judged here, and the address once more where the socket is made. Nothing is followed.
"""

import socket
from collections.abc import Mapping
from typing import Any, Final

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from skitter.errors import SkitterError
from skitter.fetch.dns import Resolver

TIMEOUT_S: Final = 10.0
MOST_CONNECTIONS: Final = 100
MOST_TO_ONE: Final = 4


class _Guarded(AbstractResolver):
    """Our resolver, as the library asks one."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._trusted: set[str] = set()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        del family
        found = await self._resolver.resolve(host, url=host)
        if found.trusted:
            self._trusted.update(found.addresses)
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in found.addresses
        ]

    def make_socket(self, info: aiohttp.AddrInfoType) -> socket.socket:
        """Make the socket for an address; one that was never resolved is judged here alone."""
        family, kind, protocol, _, place = info
        address = str(place[0])
        why = self._resolver.guard.why_not(address, named=address in self._trusted)
        if why is not None:
            raise PermissionError(why)
        return socket.socket(family, kind, protocol)

    async def close(self) -> None:
        self._resolver.close()


class Sender:
    """Sends messages; ``send`` says what went wrong, and never raises."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = _Guarded(resolver)
        self._session: aiohttp.ClientSession | None = None

    async def send(self, url: str, body: bytes, headers: Mapping[str, str]) -> str:
        """Post a message; returns "" when it was taken, else why not."""
        if self._session is None:
            self._session = self._open()
        try:
            async with self._session.post(
                url, data=body, headers=headers, allow_redirects=False
            ) as answer:
                return "" if 200 <= answer.status < 300 else f"answered {answer.status}"
        except TimeoutError:
            return f"no answer within {TIMEOUT_S:g} s"
        except (aiohttp.ClientError, SkitterError, OSError, ValueError) as error:
            return _words(error)

    async def close(self) -> None:
        """Hang up everywhere."""
        if self._session is not None:
            await self._session.close()
        await self._resolver.close()

    def _open(self) -> aiohttp.ClientSession:
        more: dict[str, Any] = {"limit": MOST_CONNECTIONS, "limit_per_host": MOST_TO_ONE}
        connector = aiohttp.TCPConnector(
            resolver=self._resolver, socket_factory=self._resolver.make_socket, **more
        )
        return aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=TIMEOUT_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
        )


def _words(error: Exception) -> str:
    """Say what went wrong, without what a URL of the receiver may hold."""
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
