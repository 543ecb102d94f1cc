"""Links that only lead on to others, such as the results of a search engine.

Where one leads is mostly said by its server alone, so it is asked, and what it answers is queued in
its place. Some carry the address they lead to, which spares the question.
"""

from urllib.parse import parse_qsl, urlsplit

from skitter.job.pattern import LinkFilter
from skitter.job.spec import Job

_ABSOLUTE = ("http://", "https://")


class Jumps:
    """The jump links of one job."""

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self._patterns = LinkFilter(patterns, ())

    @classmethod
    def of(cls, job: Job) -> "Jumps | None":
        """Return the jump links of a job; None where it names none."""
        return cls(job.jump) if job.jump else None

    def has(self, url: str) -> bool:
        """Tell whether a URL is a jump link."""
        return self._patterns.refusal(url) is None


def carried(url: str) -> str | None:
    """Return the address that a jump link carries itself, if it does."""
    try:
        pairs = parse_qsl(urlsplit(url).query, max_num_fields=50)
    except ValueError:
        return None
    return next((value for _, value in pairs if value.startswith(_ABSOLUTE)), None)
