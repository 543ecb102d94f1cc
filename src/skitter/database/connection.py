"""One connection to a PostgreSQL database: one statement at a time, deadlines, reconnection.

Every statement is a transaction of its own and leaves nothing behind in the session, so that it may
be repeated on another connection, and go through a pooler.
"""

import asyncio
import os
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

import psycopg
from psycopg.conninfo import conninfo_to_dict

from skitter.database.address import DatabaseAddress
from skitter.database.faults import said, words
from skitter.errors import ConfigError, StoreUnavailable

CONNECT_S: Final = 5.0
"""For each address of a server."""
STATEMENT_S: Final = 10.0
_MOST_ADDRESSES = 3
"""So many silent ones may be waited for, one after the other."""
_SETTINGS: Final = {
    "application_name": "skitter",
    "connect_timeout": str(round(CONNECT_S)),
    "client_encoding": "utf8",
    "keepalives_idle": "30",
    "tcp_user_timeout": str(round(1000 * STATEMENT_S)),
}

Connection = psycopg.AsyncConnection[tuple[Any, ...]]


class Answer(NamedTuple):
    """What a statement brought."""

    rows: list[tuple[Any, ...]]
    touched: int
    """How many rows it returned or changed."""


class Proof(NamedTuple):
    """What a database must answer to be the one that was opened."""

    query: str
    params: tuple[object, ...]
    rows: list[tuple[Any, ...]]


class Database:
    """Runs statements; a connection that breaks is made anew for the next one."""

    def __init__(self, address: DatabaseAddress) -> None:
        self._address = address
        self._name = f"{address.what} {address.shown}"
        self._settings = _settings(address)
        self._connection: Connection | None = None
        self._lock = asyncio.Lock()
        self._failures = 0
        self._why = ""
        self._since = 0.0
        self._closed = False
        self.proof: Proof | None = None
        """Asked on every new connection: a name may lead to another database one day."""

    @property
    def trouble(self) -> str:
        """Why the last statement failed, and for how long it has been so; "" when it did not."""
        if not self._why:
            return ""
        return f"{self._why} (for {time.monotonic() - self._since:.0f} s)"

    async def run(self, query: str, params: Sequence[object] | None = None) -> Answer:
        """Run a statement; several, as one transaction, when there are no ``params``.

        Raises ``StoreUnavailable`` when that fails, with why and what to do.
        """
        failures = self._failures
        async with self._lock:
            if self._closed:
                raise StoreUnavailable(f"{self._name} is closed")
            if self._connection is None and failures != self._failures:
                # It went wrong for another while this call waited: it need not wait as long again.
                raise StoreUnavailable(self._why)
            try:
                answer = await self._run(query, params)
            except (psycopg.Error, TimeoutError) as error:
                raise self.failed(words(error, self._address)) from error
            self._why = ""
            return answer

    def failed(self, why: str) -> StoreUnavailable:
        """Return the error to raise, and remember it as trouble."""
        if not self._why:
            self._since = time.monotonic()
        self._failures += 1
        self._why = f"{self._name} {why}"
        return StoreUnavailable(self._why)

    async def close(self) -> None:
        """End the connection; a statement that is under way fails."""
        self._closed = True
        if self._connection is not None and self._lock.locked():
            _hang_up(self._connection)
        async with self._lock:
            await self._part()

    async def _run(self, query: str, params: Sequence[object] | None) -> Answer:
        if self._connection is not None:
            try:
                return await self._ask(self._connection, query, params)
            except psycopg.OperationalError:
                if self._connection is not None or self._closed:
                    raise
            # The server was restarted since the last call, as a rule; it may be there again.
        self._connection = await self._connect()
        if self.proof is not None:
            answer = await self._ask(self._connection, self.proof.query, self.proof.params)
            if answer.rows != self.proof.rows:
                await self._part()
                raise self.failed("is another database than it was; restore the one before")
        return await self._ask(self._connection, query, params)

    async def _connect(self) -> Connection:
        async with asyncio.timeout(_MOST_ADDRESSES * CONNECT_S):
            return await psycopg.AsyncConnection.connect(
                **self._settings, autocommit=True, prepare_threshold=None
            )

    async def _ask(
        self, connection: Connection, query: str, params: Sequence[object] | None
    ) -> Answer:
        """Run one statement; a connection that does not come through it well is ended."""
        # Cancelled, the library would wait for a silent server to confirm that: so it never is.
        asking = asyncio.create_task(_ask(connection, query, params))
        in_time = False
        try:
            done, _ = await asyncio.wait({asking}, timeout=STATEMENT_S)
            in_time = bool(done)
        finally:
            if not asking.done():
                _hang_up(connection)
                await asyncio.wait({asking})
            error = asking.exception()
            if error is not None and _is_spoilt(connection, error):
                await self._part()
        if not in_time:
            raise TimeoutError
        return asking.result()

    async def _part(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()


async def _ask(connection: Connection, query: str, params: Sequence[object] | None) -> Answer:
    cursor = await connection.execute(query.encode(), params, binary=params is not None)
    rows = await cursor.fetchall() if cursor.description else []
    return Answer(rows, cursor.rowcount)


def _hang_up(connection: Connection) -> None:
    """Break a connection off, so that whoever waits for an answer stops waiting.

    The descriptor stays open until the library closes it: the event loop still knows its number.
    """
    with suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(connection.fileno())) as end:
        end.shutdown(socket.SHUT_RDWR)


def _is_spoilt(connection: Connection, error: BaseException) -> bool:
    """Tell whether another connection may do better."""
    idle = connection.pgconn.transaction_status == psycopg.pq.TransactionStatus.IDLE
    return not idle or isinstance(error, psycopg.errors.ReadOnlySqlTransaction)


def _settings(address: DatabaseAddress) -> dict[str, Any]:
    """Return what the library is to be given; raises ``ConfigError`` when it does not take it."""
    try:
        given = conninfo_to_dict(address.url)
    except psycopg.Error as error:
        # Other messages may repeat a part of the password.
        known = "URI query parameter" in str(error)
        why = f"PostgreSQL does not take it{f' ({said(error)})' if known else ''}"
        raise ConfigError(f"{address.what} {address.shown}: {why}; check the URL") from None
    writable = {"target_session_attrs": "read-write"} if address.several else {}
    return {**_SETTINGS, **writable, **given}
