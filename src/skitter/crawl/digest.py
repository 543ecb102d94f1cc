"""Exact duplicates: which URL of the job first had a body."""

from xxhash import xxh3_128_digest

from skitter.frontier.base import FrontierReader
from skitter.types import JobNumber


class ContentIndex:
    """Looks digests up in the store, and among the pages that are not stored yet."""

    def __init__(self, reader: FrontierReader, job: JobNumber) -> None:
        self._reader = reader
        self._job = job
        self._pending: dict[bytes, str] = {}

    async def first(self, url: str, body: bytes) -> tuple[bytes, str | None]:
        """Return the body's digest, and the URL that had it before ``url``, if any."""
        digest = xxh3_128_digest(body)
        if not body:
            return digest, None
        found = self._pending.get(digest) or await self._reader.content(self._job, digest)
        if found is None or found == url:
            self._pending[digest] = url
            return digest, None
        return digest, found

    def stored(self, digest: bytes) -> None:
        """Take note that a digest is in the store, or never will be."""
        self._pending.pop(digest, None)
