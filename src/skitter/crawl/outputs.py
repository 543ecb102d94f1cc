"""What a batch of visits leaves behind beside its acks: captures, records in databases, and notes.

The archive comes first, because a record names the place of its capture. Databases are written here
where every member writes them itself.
"""

from collections.abc import Mapping, Sequence

from skitter.crawl.equipment import Equipment
from skitter.crawl.recording import write_to_all
from skitter.crawl.trip import Kept, Visit
from skitter.frontier.model import own_note
from skitter.pipeline.archive.model import Capture, Location, Original
from skitter.pipeline.base import Archive, Batch, Sink
from skitter.pipeline.record import decode_line, encode_line

RECORD_FIELD = "skitter-record"
"""Under this name the archive's metadata holds the page record."""
_MAX_HOPS_SHOWN = 50


class Outputs:
    """The archive of one member's visits, and the records made of them."""

    def __init__(
        self,
        equipment: Equipment,
        archive: Archive | None = None,
        archive_mark: str = "",
        databases: Mapping[str, Sink] | None = None,
    ) -> None:
        self._with = equipment
        self._archive = archive
        self._archive_mark = archive_mark
        self._databases = databases or {}
        """By the names of their marks."""

    @property
    def trouble(self) -> str:
        """Why writing waits, in words; "" while it does not."""
        return next((one.trouble for one in self._databases.values() if one.trouble), "")

    async def write(self, visits: Sequence[Visit]) -> tuple[dict[int, bytes], dict[str, bytes]]:
        """Archive what ``visits`` brought; answers their notes by lease, and the marks to keep."""
        marks: dict[str, bytes] = {}
        if self._archive is not None:
            marks[self._archive_mark] = await self._archive_visits(self._archive, visits)
            await self._archive.sync()
        notes = {v.lease.id: encode_line(v.record) for v in visits if v.record is not None}
        return notes, {**marks, **await self._record(visits, notes)}

    async def _record(
        self, visits: Sequence[Visit], notes: Mapping[int, bytes]
    ) -> dict[str, bytes]:
        """Write records to the databases; answers the marks that say something."""
        found = [(visit.page, notes[visit.lease.id]) for visit in visits if visit.page is not None]
        if not self._databases or not found:
            return {}
        batch = Batch([page for page, _ in found], [line for _, line in found])
        written = await write_to_all(list(self._databases.values()), batch)
        marks = {name: written[sink.mark_name] for name, sink in self._databases.items()}
        return {name: mark for name, mark in marks.items() if mark}

    async def _archive_visits(self, archive: Archive, visits: Sequence[Visit]) -> bytes:
        originals = await self._originals(archive, visits)
        captures: list[Capture] = [_capture(kept) for kept in self._with.manners.take_kept()]
        own: dict[int, int] = {}
        for visit in visits:
            for kept in visit.kept:
                is_last = kept is visit.kept[-1]
                if is_last:
                    own[visit.lease.id] = len(captures)
                fields = _fields(visit) if is_last else {}
                captures.append(_capture(kept, fields, originals.get(visit.lease.id)))
        locations, mark = await archive.write(captures)
        for visit in visits:
            if visit.lease.id in own:
                _locate(visit, locations[own[visit.lease.id]])
            visit.kept = []
        return mark

    async def _originals(self, archive: Archive, visits: Sequence[Visit]) -> Mapping[int, Original]:
        """Return the archived pages whose content came again, by the lease that brought it."""
        found = {}
        for visit in visits:
            record = visit.record
            if not visit.digest or record is None or record.duplicate_of is None:
                continue
            original = await self._original(archive, record.duplicate_of)
            if original is not None:
                found[visit.lease.id] = original
        return found

    async def _original(self, archive: Archive, url: str) -> Original | None:
        equipment = self._with
        normal = equipment.normaliser.absolute(url)
        note = own_note(await equipment.reader.note(equipment.number, normal.host, normal.fp))
        if not note:
            return None
        record = decode_line(note)
        if record.payload_digest is None or record.final_url is None or record.warc_revisit:
            # A revisit must name a response: what would repeat a revisit is stored whole.
            return None
        if not archive.holds(record.warc_file or "", record.warc_offset or 0):
            return None
        return Original(record.final_url, record.fetched_at, record.payload_digest)


def _capture(
    kept: Kept, fields: Mapping[str, str] | None = None, original: Original | None = None
) -> Capture:
    return Capture(
        url=kept.url,
        at_ms=kept.at_ms,
        request=kept.raw.request,
        response=kept.raw.response,
        head_bytes=kept.raw.head_bytes,
        address=kept.address,
        truncated=kept.cut,
        fields=fields or {},
        original=original,
    )


def _fields(visit: Visit) -> Mapping[str, str]:
    """Return what the archive says of a page beside its bytes."""
    record = visit.record
    if record is None:
        return {}
    fields = {RECORD_FIELD: encode_line(record).decode().rstrip("\n")}
    if record.referrer:
        fields["via"] = record.referrer
    if record.depth:
        fields["hopsFromSeed"] = "L" * min(record.depth, _MAX_HOPS_SHOWN)
    if record.elapsed_ms is not None:
        fields["fetchTimeMs"] = str(record.elapsed_ms)
    return fields


def _locate(visit: Visit, location: Location) -> None:
    record = visit.record
    # Without a size no body was taken: the last capture is of a redirect on the way there.
    if record is not None and record.bytes is not None:
        record.warc_file = location.file
        record.warc_offset = location.offset
        record.warc_revisit = location.revisit
        record.payload_digest = location.payload_digest
