"""What finds and judges the links of one job, in the order its pieces need each other."""

from skitter.crawl.discover import LinkFinder
from skitter.crawl.judge import Judge
from skitter.crawl.news import News
from skitter.crawl.relevance import Relevance
from skitter.crawl.site_rules import SiteRules
from skitter.crawl.sitemaps import SitemapFinder
from skitter.job.spec import Job, Order
from skitter.types import JobNumber
from skitter.url.fingerprint import Fingerprinter
from skitter.url.normalise import Normaliser
from skitter.url.scope import Scope, ScopeKind
from skitter.wiring.aliases import make_watch
from skitter.wiring.parts import make_guard
from skitter.wiring.store import Store


class LinkParts:
    """The pieces of one job that decide which URLs it takes up, and in which order."""

    def __init__(self, job: Job, number: JobNumber, store: Store, sites: SiteRules) -> None:
        clock = store.clock
        self.sites = sites
        self.home = Scope(ScopeKind.DOMAIN)
        self.normaliser = Normaliser(job.urls.rules(), Fingerprinter(store.secret))
        self.judge = Judge(job, Scope(job.scope), sites)
        self.guard = make_guard(job, clock)
        self.relevance = Relevance(job.keywords) if job.order is Order.BEST else None
        self.news = News.of(job, self.judge, clock)
        self.finder = LinkFinder(
            job, number, self.judge, self.normaliser, guard=self.guard, relevance=self.relevance
        )
        self.finder.news = self.news
        self.sitemaps = SitemapFinder(
            job, judge=self.judge, normaliser=self.normaliser, finder=self.finder, clock=clock
        )
        starts = (self.sitemaps.starts, self.home)
        self.aliases = make_watch(job, number, store, self.normaliser, starts)
        if self.aliases is not None:
            self.finder.aliases = self.aliases.book
