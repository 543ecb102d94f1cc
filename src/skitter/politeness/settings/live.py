"""The settings as one process knows them, read again when they change."""

import logging
from collections import OrderedDict
from collections.abc import Mapping
from typing import Protocol

from skitter.errors import ConfigError
from skitter.job.rate import Rate
from skitter.politeness.settings.table import MARKS, NOTHING_SET, STAMP, SiteSettings, Table
from skitter.types import HostKey

HOSTS_KEPT = 100_000
"""Hosts whose settings are remembered as worked out."""

log = logging.getLogger(__name__)


class MarkReader(Protocol):
    """Where the settings are."""

    async def mark(self, name: str) -> bytes | None:
        """Return a named value."""

    async def marks(self, prefix: str) -> Mapping[str, bytes]:
        """Return the values whose names begin with ``prefix``."""


class LiveSettings:
    """What is set for hosts at this moment. One for a process, whatever jobs it works on."""

    def __init__(self, table: Table | None = None) -> None:
        self.use(table or Table())
        self._stamp: bytes | None = None

    async def refresh(self, reader: MarkReader) -> bool:
        """Read what has changed; answers whether anything has.

        A table that this version cannot read as a whole is left alone: half of a limit may be
        worse than the one that was in force until now.
        """
        stamp = await reader.mark(STAMP)
        if stamp == self._stamp:
            return False
        marks = await reader.marks(MARKS)
        try:
            table = Table.read(marks)
        except ConfigError as error:
            log.warning("%s; the settings stay as they were", error)
            self._stamp = stamp
            return False
        self._stamp = stamp
        self.use(table)
        return True

    def use(self, table: Table) -> None:
        """Go by another table from here on."""
        self.table = table
        self.any = bool(table)
        """Whether something is set at all; asked for every link."""
        self._known: OrderedDict[HostKey, SiteSettings] = OrderedDict()

    def of(self, host: HostKey) -> SiteSettings:
        """Return what is set for a host."""
        if not self.any:
            return NOTHING_SET
        found = self._known.get(host)
        if found is None:
            found = self._known[host] = self.table.of(host)
            if len(self._known) > HOSTS_KEPT:
                self._known.popitem(last=False)
        return found

    def rate_for(self, host: HostKey) -> Rate | None:
        """Return how often a host may be asked in a stretch of time, if that is set."""
        return self.of(host).rate
