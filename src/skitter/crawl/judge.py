"""Whether a URL belongs to the crawl, before it is ever queued.

The same judge answers the hot path (a code or None) and the person who asks why.
"""

from skitter.fetch.types import SuffixFilter
from skitter.job.pattern import LinkFilter
from skitter.job.spec import Job, Sitemaps
from skitter.politeness.decision import ALLOWED, Code, Decision
from skitter.types import HostKey
from skitter.url.scope import Scope


class Judge:
    """The job's scope, patterns and depth."""

    def __init__(self, job: Job, scope: Scope) -> None:
        self.scope = scope
        self._depth = job.depth
        self._dynamic_depth = job.dynamic_depth
        self._follows = job.sitemaps is not Sitemaps.ONLY
        self._filter = LinkFilter(job.include, job.exclude)
        self._filters = bool(job.include or job.exclude)
        skipped = job.http.skip_suffixes
        self._suffixes = SuffixFilter() if skipped is None else SuffixFilter(skipped)

    def follows_from(self, depth: int) -> bool:
        """Tell whether links of a page at ``depth`` may be followed at all."""
        return self._follows and (self._depth is None or depth < self._depth)

    def refusal(self, url: str, host: HostKey, depth: int = 0) -> Code | None:
        """Return why a link is not queued, as a code; None when it is."""
        if not self.scope.contains(url, host):
            return Code.SCOPE
        if self._suffixes.why_not(url) is not None:
            return Code.SUFFIX
        if self._filters and self._filter.refusal(url) is not None:
            return Code.EXCLUDE
        if self._dynamic_depth is not None and depth > self._dynamic_depth and "?" in url:
            return Code.DEPTH
        return None

    def explain(self, url: str, host: HostKey, depth: int = 0) -> Decision:
        """Return the same judgement in words."""
        code = self.refusal(url, host, depth)
        if code is None:
            return ALLOWED
        if code is Code.SCOPE:
            sentence = self.scope.why_not(url)
        elif code is Code.SUFFIX:
            sentence = self._suffixes.why_not(url)
        elif code is Code.DEPTH:
            sentence = f"it has a query, and dynamic_depth is {self._dynamic_depth}"
        else:
            sentence = self._filter.refusal(url)
        return Decision.refuse(code, sentence or "")
