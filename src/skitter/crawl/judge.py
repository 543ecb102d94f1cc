"""Whether a URL belongs to the crawl, before it is ever queued.

The same judge answers the hot path (a code or None) and the person who asks why.
"""

from skitter.crawl.fitted import ARTICLES, JUMPS, Fitted, link_rule
from skitter.crawl.jumps import Jumps
from skitter.crawl.link_rules import LinkRules, Ruling
from skitter.crawl.site_rules import SiteRules
from skitter.fetch.types import SuffixFilter
from skitter.frontier.model import Lease
from skitter.job.pattern import LinkFilter
from skitter.job.refresh import Policy
from skitter.job.spec import Job, Kind, Sitemaps
from skitter.politeness.decision import ALLOWED, Code, Decision
from skitter.types import HostKey, PageClass
from skitter.url.scope import Scope


class Judge:
    """The job's scope, patterns and depth, and what is set for sites."""

    def __init__(self, job: Job, scope: Scope, sites: SiteRules | None = None) -> None:
        self.scope = scope
        self.sites = sites or SiteRules(job)
        self._depth = job.depth
        self._has_list = job.list_ is not None
        self._dynamic_depth = job.dynamic_depth
        self._follows = job.sitemaps is not Sitemaps.ONLY
        self._filter = LinkFilter(job.include, job.exclude)
        self._filters = bool(job.include or job.exclude)
        self.fitted = Fitted()
        """Which of its rules have fitted a link."""
        self.links = LinkRules(job.links) if job.links else None
        """The job's link rules: for links of pages and what sitemaps list, not for starts."""
        self.follows_plain = job.kind is not Kind.LIST or bool(job.links)
        """Whether links are followed that no rule for fields has found."""
        self._jumps = Jumps.of(job)
        self.articles = (
            LinkFilter(job.article, ()) if job.article and job.kind is Kind.NEWS else None
        )
        """What a news job says of the addresses of articles."""
        skipped = job.http.skip_suffixes
        self._suffixes = SuffixFilter() if skipped is None else SuffixFilter(skipped)

    def is_start(self, lease: Lease) -> bool:
        """Tell whether a person has named a URL; the next page of a list is only as near."""
        return lease.depth == 0 and not (self._has_list and lease.referrer)

    def follows_from(self, depth: int) -> bool:
        """Tell whether links of a page at ``depth`` may be followed at all."""
        return self._follows and (self._depth is None or depth < self._depth)

    def is_jump(self, url: str) -> bool:
        """Tell whether a URL only leads on to another."""
        return self._jumps is not None and self._jumps.has(url)

    def met(self, url: str, ruling: Ruling | None = None, *, placed: bool = False) -> None:
        """Take note of the rules that fit a link, of a page or a sitemap.

        ``placed`` says that it is known where on its page it is: without that, rules for parts of
        pages are taken to fit, and may never have. Entries and questions are no links.
        """
        fitted = self.fitted
        if ruling is not None and ruling.number is not None and (placed or not ruling.restricted):
            fitted.saw(link_rule(ruling.number))
        if self._jumps is not None and JUMPS not in fitted and self._jumps.has(url):
            fitted.saw(JUMPS)
        news = self.articles
        if news is not None and ARTICLES not in fitted and news.refusal(url) is None:
            fitted.saw(ARTICLES)

    def refusal(self, url: str, host: HostKey, depth: int = 0) -> Code | None:
        """Return why a link is not queued, as a code; None when it is."""
        said = self.sites.refusal(host, depth) if self.sites.any else None
        if said is Code.BLACKLIST or self.is_jump(url):
            # What only leads on may lie anywhere: where it leads is judged.
            return said
        if not self.scope.contains(url, host):
            return Code.SCOPE
        if self._suffixes.why_not(url) is not None:
            return Code.SUFFIX
        if self._filters and self._filter.refusal(url) is not None:
            return Code.EXCLUDE
        if self._dynamic_depth is not None and depth > self._dynamic_depth and "?" in url:
            return Code.DEPTH
        return said

    def ruling(self, url: str, host: HostKey) -> Ruling | None:
        """Return what the link rules say of a URL, wherever it is linked; None without rules."""
        return None if self.links is None or self.is_jump(url) else self.links.decide(url, host)

    def listed_refusal(self, url: str, host: HostKey, depth: int) -> Code | None:
        """Return why a URL that a sitemap or a jump link has is not queued; None when it is."""
        code = self.refusal(url, host, depth)
        ruling = self.ruling(url, host) if code is None else None
        if code is None:
            self.met(url, ruling)
        return Code.RULE if ruling is not None and not ruling.follow else code

    def explain(self, url: str, host: HostKey, depth: int = 0) -> Decision:
        """Return the same judgement in words."""
        code = self.refusal(url, host, depth)
        if code is None:
            return ALLOWED
        said = self.sites.explain(host, depth)
        if said.code is code:
            return said
        if code is Code.SCOPE:
            sentence = self.scope.why_not(url)
        elif code is Code.SUFFIX:
            sentence = self._suffixes.why_not(url)
        elif code is Code.DEPTH:
            sentence = f"it has a query, and dynamic_depth is {self._dynamic_depth}"
        else:
            sentence = self._filter.refusal(url)
        return Decision.refuse(code, sentence or "")


def entry_class(job: Job) -> PageClass:
    """Return the class of a start that no link rule speaks of."""
    leads_on = job.list_ is not None or job.kind is Kind.NEWS
    # What is looked at again is not over when it is done, whatever it is.
    is_nav = leads_on or job.refresh.policy is not Policy.NEVER
    return PageClass.NAV if is_nav else PageClass.DATA
