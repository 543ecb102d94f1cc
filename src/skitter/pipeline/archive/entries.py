"""Index lines made again from stored records. Pure."""

from skitter.pipeline.archive import cdx, message
from skitter.pipeline.archive.members import Record


def entry_line(record: Record, file: str) -> bytes | None:
    """Return the index line of a record, or None for one that has none."""
    if record.kind not in ("response", "revisit"):
        return None
    headers = record.headers
    return cdx.line(
        cdx.Entry(
            url=headers.get("warc-target-uri", ""),
            date=headers.get("warc-date", ""),
            revisit=record.kind == "revisit",
            head=message.split(record.block)[0],
            payload_digest=headers.get("warc-payload-digest", ""),
            offset=record.offset,
            length=record.length,
            file=file,
        )
    )
