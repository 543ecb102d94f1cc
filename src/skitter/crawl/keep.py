"""What an exchange leaves for the archive, without the secrets of the job's headers and cookies."""

import re

import msgspec

from skitter.clock import Clock
from skitter.crawl.trip import Kept
from skitter.fetch.base import Response
from skitter.job.spec import Job

HIDDEN = b"(not archived)"


class Keeper:
    """Keeps exchanges as they went over the wire."""

    def __init__(self, job: Job, clock: Clock) -> None:
        self._clock = clock
        # Whatever a job adds to its requests may be a key to something.
        added = [*job.http.headers, *(["Cookie"] if job.http.cookies else [])]
        names = "|".join(re.escape(name) for name in added)
        pattern = rf"(?im)^({names}):[^\r\n]*".encode()
        self._secrets = re.compile(pattern) if names else None

    def keep(self, response: Response, at_ms: int | None = None) -> Kept:
        """Return what the archive keeps of a response fetched with its bytes."""
        raw = response.raw
        assert raw is not None
        if self._secrets is not None:
            request = self._secrets.sub(rb"\1: " + HIDDEN, raw.request)
            raw = msgspec.structs.replace(raw, request=request)
        return Kept(
            url=response.url,
            at_ms=self._clock.now_ms() if at_ms is None else at_ms,
            raw=raw,
            address=response.address,
            cut=raw.cut,
        )
