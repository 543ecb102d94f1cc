"""Which of the files that a page shows are fetched, and how they are queued.

They are URLs with a role of their own, so a page, its neighbours and another member that name the
same file bring it once. They may lie on any host: sites keep their pictures elsewhere.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from skitter.crawl.discover import LinkFinder
from skitter.crawl.judge import Judge
from skitter.crawl.trip import Trip, Visit
from skitter.frontier.model import Lease, Link
from skitter.job.spec import Job, Kind
from skitter.parse.page import ParsedPage
from skitter.parse.shown import IMAGE, shown_files
from skitter.pipeline.record import PageRecord
from skitter.politeness.decision import Code
from skitter.types import Outcome, PageClass, Role
from skitter.url.normalise import Normaliser, NormalUrl

MEDIA_LABEL: Final = "media"
"""Names the kinds of files that were asked for with a page, in the labels of its record."""


class MediaFinder:
    """Finds the files that the pages of one job show."""

    def __init__(self, job: Job, judge: Judge, normaliser: Normaliser, finder: LinkFinder) -> None:
        self._kinds = frozenset(job.media)
        self._on_request = job.kind is Kind.RESOLVE
        """Whether files are also fetched with single pages, as whoever asks for them says."""
        self._most = job.limits.media_per_page
        self._data_alone = job.kind in (Kind.NEWS, Kind.LIST)
        """Whether pages of links are left out: what they show belongs to other pages."""
        self._judge = judge
        self._normaliser = normaliser
        self._finder = finder

    @classmethod
    def of(
        cls, job: Job, judge: Judge, normaliser: Normaliser, finder: LinkFinder
    ) -> "MediaFinder | None":
        """Return what finds the files of a job; None for a job that asks for none."""
        wanted = job.media or job.kind is Kind.RESOLVE
        return cls(job, judge, normaliser, finder) if wanted else None

    def wants(self, kind: str) -> bool:
        """Tell whether the job asks for files of a kind."""
        return kind in self._kinds or self._on_request

    def _kinds_for(self, lease: Lease) -> frozenset[str]:
        if not self._on_request or not lease.data:
            return self._kinds
        return self._kinds | frozenset(lease.data.decode("ascii", "replace").split(","))

    def take(self, visit: Visit, page: ParsedPage, trip: Trip, *, pictures: bool) -> list[Link]:
        """Name the files of a page in its record; answers them as links."""
        record = visit.record
        if record is None or record.outcome != Outcome.OK or page.document is None:
            return []
        if self._data_alone and record.page_class != "data":
            return []
        kinds = self._kinds_for(trip.lease)
        if self._on_request and kinds:
            record.labels = {**record.labels, MEDIA_LABEL: ",".join(sorted(kinds))}
        found: dict[str, Link] = {}
        for kind, normal in self._files(page, record, kinds):
            if normal.url in found or (kind == IMAGE and not pictures):
                continue
            if self._judge.sites.is_blacklisted(normal.host):
                self._finder.cut[Code.BLACKLIST] += 1
                continue
            if len(found) >= self._most:
                break
            found[normal.url] = self._link(kind, normal, trip)
        record.media = [{"url": link.url, "kind": link.data.decode()} for link in found.values()]
        return list(found.values())

    def _files(
        self, page: ParsedPage, record: PageRecord, kinds: frozenset[str]
    ) -> Iterator[tuple[str, NormalUrl]]:
        assert page.document is not None
        named = [(IMAGE, record.image)] if record.image else []
        for kind, href in (*named, *shown_files(page.document)):
            if kind in kinds and page.joiner is not None:
                normal = self._normaliser.link(page.joiner, href)
                if normal is not None:
                    yield kind, normal

    def _link(self, kind: str, normal: NormalUrl, trip: Trip) -> Link:
        lease = trip.lease
        # A step behind the pages: what is shown is no use without them.
        asked = msgspec.structs.replace(
            lease, url=trip.url, data=kind.encode(), priority=max(0, lease.priority - 1)
        )
        return media_link(self._finder, self._normaliser, normal, asked)


def media_link(finder: LinkFinder, normaliser: Normaliser, normal: NormalUrl, of: Lease) -> Link:
    """Return a file as a link, with kind, depth and priority of a lease, whose URL named it."""
    link = finder.make_link(normaliser.in_role(normal, Role.MEDIA), of.depth, of.url, data=of.data)
    return msgspec.structs.replace(
        link, role=Role.MEDIA, page_class=PageClass.DATA, priority=of.priority
    )


def kind_of(lease: Lease) -> str:
    """Return which kind of file a lease is for."""
    return lease.data.decode("ascii", "replace")


def accept_media(lease: Lease) -> str:
    """Return the Accept header for a file."""
    return f"{kind_of(lease)}/*,*/*;q=0.5"
