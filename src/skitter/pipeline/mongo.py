"""Records in a collection of MongoDB: one document for each, in unordered bulks of upserts.

The ``_id`` of a document is the key of its record. An upsert asks for that ``_id`` and for nothing
newer; where something newer is there, the server tries to insert a second one and refuses that as a
duplicate, which is as it should be.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import parse_qsl

import bson
from bson.errors import BSONError
from bson.raw_bson import RawBSONDocument
from pymongo import AsyncMongoClient, ReplaceOne
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import (
    AutoReconnect,
    BulkWriteError,
    ConfigurationError,
    InvalidURI,
    NotPrimaryError,
    OperationFailure,
    PyMongoError,
)
from pymongo.write_concern import WriteConcern

from skitter.database.address import without_secrets
from skitter.errors import ConfigError, StoreUnavailable
from skitter.pipeline.columns import COLUMNS, ColumnKind, values_of
from skitter.pipeline.record import PageRecord
from skitter.pipeline.upsert import Refused

MOST_BYTES: Final = 16 << 20
"""The longest document a server takes."""
DUPLICATE: Final = 11000
_FAULTS_OF_RECORDS: Final = frozenset({2, 9, 52, 53, 54, 55, 56, 57, 121, 10334, 17280, 17419})
"""Codes that say: this document cannot be stored, here, or at all."""
_DEFAULTS: Final = {
    "appname": "skitter",
    "serverSelectionTimeoutMS": 3_000,
    "connectTimeoutMS": 5_000,
    "socketTimeoutMS": 20_000,
}
_WHO = "does not know this user and password; check both in the URL"
_RIGHTS = "does not let this user write ({said}); grant readWrite on the database there"
_BY_CODE: Final = {13: _RIGHTS, 18: _WHO, 8000: _WHO}

Document = Mapping[str, Any]


class MongoCollection:
    """A collection of records."""

    def __init__(self, url: str, name: str, *, what: str, durable: bool = True) -> None:
        self._url = url
        self._name = name
        self._shown = f"{what} {without_secrets(url)}"
        self._concern = WriteConcern(w="majority", j=True) if durable else WriteConcern(w=1)
        self._client: AsyncMongoClient[Document] | None = None
        self._held: AsyncCollection[Document] | None = None

    @property
    def _collection(self) -> AsyncCollection[Document]:
        assert self._held is not None
        return self._held

    async def open(self, *, make: bool) -> None:
        """Connect, see whether documents may be written, and make the index by URL."""
        await self.close()
        try:
            self._client = AsyncMongoClient(self._url, **_options(self._url))
            database = self._client.get_default_database()
            self._held = database.get_collection(self._name, write_concern=self._concern)
            # Changes nothing, and is refused to who may not change anything.
            await self._held.update_one({"_id": ""}, {"$set": {"job": ""}})
            if make:
                await self._held.create_index("url")
        except (ConfigurationError, InvalidURI, ValueError, TypeError) as error:
            # What the library says may repeat a part of the password.
            raise ConfigError(f"{self._shown}: {_misread(error)}") from None
        except PyMongoError as error:
            raise self._unavailable(error) from error

    async def forget(self, job: str) -> None:
        """Delete the documents of a job."""
        try:
            await self._collection.delete_many({"_id": {"$gte": f"{job} ", "$lt": f"{job}!"}})
        except PyMongoError as error:
            raise self._unavailable(error) from error

    async def upsert(self, records: Sequence[PageRecord]) -> list[Refused]:
        """Write records; each that is refused is one less, and the others are written."""
        refused: list[Refused] = []
        changes: list[tuple[PageRecord, ReplaceOne[Document]]] = []
        for record in records:
            packed, why = pack(record)
            if why:
                refused.append(Refused(record, why))
            else:
                changes.append((record, _change(record, packed)))
        faults = await self._write([change for _, change in changes])
        # Of two members that insert a key at once, one is told of a duplicate that it may replace.
        twice = [changes[at] for at, (code, _) in faults.items() if code == DUPLICATE]
        refused += self._judge(changes, faults)
        return refused + self._judge(twice, await self._write([change for _, change in twice]))

    async def _write(self, changes: list[ReplaceOne[Document]]) -> dict[int, tuple[int, str]]:
        """Write; answers what was refused, by its place: the code and the words."""
        if not changes:
            return {}
        try:
            await self._collection.bulk_write(changes, ordered=False)
        except BulkWriteError as error:
            told = error.details or {}
            why = unsafe(told)
            if why:
                raise StoreUnavailable(
                    f"{self._shown} has not made records safe ({why}); see its log"
                ) from error
            return {
                int(one["index"]): (int(one["code"]), str(one.get("errmsg", "")))
                for one in told.get("writeErrors", ())
            }
        except PyMongoError as error:
            raise self._unavailable(error) from error
        return {}

    def _judge(
        self,
        changes: Sequence[tuple[PageRecord, ReplaceOne[Document]]],
        faults: Mapping[int, tuple[int, str]],
    ) -> list[Refused]:
        """Return the records that were refused; raises when it is the server that is at fault."""
        refused = []
        for at, (code, why) in faults.items():
            if code in _FAULTS_OF_RECORDS:
                refused.append(Refused(changes[at][0], why))
            elif code != DUPLICATE:
                raise StoreUnavailable(f"{self._shown} failed ({why}); see its log")
        return refused

    def _unavailable(self, error: PyMongoError) -> StoreUnavailable:
        return StoreUnavailable(f"{self._shown} {words(error)}")

    async def close(self) -> None:
        """End the connections."""
        if self._client is not None:
            client, self._client, self._held = self._client, None, None
            await client.close()


def unsafe(told: Mapping[str, Any]) -> str:
    """Return why what a bulk has written may be lost again; "" when it is safe.

    Whatever of it was refused besides is refused again when all of it is repeated.
    """
    faults = told.get("writeConcernErrors")
    return str(faults[0].get("errmsg") or "write concern") if faults else ""


def key_of(record: PageRecord) -> str:
    """Return the ``_id`` of a record: job and visit, which have no spaces, and the URL."""
    return f"{record.job} {record.visit} {record.url}"


def document_of(record: PageRecord) -> dict[str, Any]:
    """Return a record as a document."""
    document: dict[str, Any] = {"_id": key_of(record)}
    for column, value in zip(COLUMNS, values_of(record), strict=True):
        is_time = column.kind is ColumnKind.TIME and isinstance(value, str)
        document[column.name] = datetime.fromisoformat(str(value)) if is_time else value
    return document


def pack(record: PageRecord) -> tuple[bytes, str]:
    """Return a record as bytes, and why it cannot be stored, if it cannot."""
    try:
        packed = bson.encode(document_of(record))
    except (BSONError, OverflowError, RecursionError) as error:
        return b"", str(error)
    if len(packed) > MOST_BYTES:
        return b"", f"{len(packed)} bytes, and MongoDB takes {MOST_BYTES}"
    return packed, ""


def _change(record: PageRecord, packed: bytes) -> ReplaceOne[Document]:
    at = datetime.fromisoformat(record.fetched_at)
    wanted = {"_id": key_of(record), "fetched_at": {"$lte": at}}
    return ReplaceOne(wanted, RawBSONDocument(packed), upsert=True)


def words(error: PyMongoError) -> str:
    """Return why a server could not do what was asked, and what to do, in one line."""
    said = (str(error).strip() or type(error).__name__).splitlines()[0]
    if isinstance(error, OperationFailure) and error.code is not None:
        told = (error.details or {}).get("errmsg", said)
        return _BY_CODE.get(error.code, "failed ({said}); see its log").format(said=told)
    if isinstance(error, NotPrimaryError):
        return "cannot be written, a secondary perhaps; name the primary or the replica set"
    if isinstance(error, AutoReconnect):
        return f"does not answer ({_absence(said)}); start MongoDB there or check the address"
    return f"failed ({said}); see its log"


def _absence(said: str) -> str:
    if re.search("refused|errno 111", said, re.IGNORECASE):
        return "connection refused"
    if re.search("name or service|address associated|name resolution", said, re.IGNORECASE):
        return "the name is not known"
    if re.search("closed|reset|broken pipe", said, re.IGNORECASE):
        return "the connection broke off"
    return "silent for too long"


def _misread(error: Exception) -> str:
    if "database" in str(error).lower() and isinstance(error, ConfigurationError):
        return "it names no database; write mongodb://user:password@host:port/database"
    return "MongoDB's client does not take this URL; check it, and write @ as %40 in passwords"


def _options(url: str) -> dict[str, Any]:
    """Return what the client is told where the URL does not say it.

    Its own repeats of writes are left out: every batch is repeated here, and not all servers know
    them.
    """
    query = parse_qsl(url.partition("?")[2], keep_blank_values=True)
    told = {name.lower() for name, _ in query}
    options = {name: value for name, value in _DEFAULTS.items() if name.lower() not in told}
    return {**options, "retryWrites": False}
