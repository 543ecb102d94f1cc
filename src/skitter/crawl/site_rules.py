"""What counts for a site in one job: what an operator has set for it, else what the job says."""

from collections.abc import Mapping

from skitter.crawl.rates import JobRates
from skitter.job.spec import Job
from skitter.politeness.decision import ALLOWED, Code, Decision
from skitter.politeness.settings.live import LiveSettings
from skitter.politeness.settings.table import SiteSettings
from skitter.politeness.windows import NO_RATES, Rates
from skitter.types import HostKey


class SiteRules:
    """One job's view of the settings."""

    def __init__(self, job: Job, live: LiveSettings | None = None) -> None:
        self._live = live or LiveSettings()
        self._http = job.http
        self._agent = job.http.agent_for(HostKey(""))
        self._types = job.http.types

    @property
    def any(self) -> bool:
        """Whether something is set at all; spares a look for every link where nothing is."""
        return self._live.any

    @property
    def renames(self) -> bool:
        """Whether some host may be asked by another name than others."""
        return self._live.any or bool(self._http.agents)

    @property
    def delays(self) -> bool:
        """Whether a delay is set for some host."""
        return self._live.table.has("delay")

    @property
    def concurrency(self) -> int | None:
        """How many requests a member may have under way, if that is set."""
        return self._live.table.concurrency

    def of(self, host: HostKey) -> SiteSettings:
        """Return what is set for a host."""
        return self._live.of(host)

    def agent(self, host: HostKey) -> str:
        """Return the name to ask a host by."""
        said = self.of(host).agent if self._live.any else None
        if said:
            return said
        return self._http.agent_for(host) if self._http.agents else self._agent

    def agent_header(self, host: HostKey) -> Mapping[str, str]:
        """Return the header that names us to a host, where that is another name than usual."""
        agent = self.agent(host)
        return {} if agent == self._agent else {"User-Agent": agent}

    def types(self, host: HostKey) -> tuple[str, ...]:
        """Return the media types that are taken from a host."""
        found = self.of(host).types if self._live.any else None
        return self._types if found is None else found

    def rates(self, host: HostKey) -> Rates:
        """Return how often a host may be asked, as far as that is set."""
        found = self.of(host)
        return Rates(found.rate, found.rate_ip)

    def refusal(self, host: HostKey, depth: int) -> Code | None:
        """Return why nothing at ``depth`` is asked of a host, as a code; None when it may be."""
        found = self.of(host)
        if found.blacklist:
            return Code.BLACKLIST
        if found.depth is not None and depth > found.depth:
            return Code.DEPTH
        return None

    def explain(self, host: HostKey, depth: int) -> Decision:
        """Return the same judgement in words."""
        found, code = self.of(host), self.refusal(host, depth)
        if code is None:
            return ALLOWED
        if code is Code.BLACKLIST:
            sentence = f"{host} is blacklisted by the setting for {found.blacklisted_by}"
        else:
            sentence = f"it is {depth} links away, and the depth set for {host} is {found.depth}"
        return Decision.refuse(code, sentence)

    def is_blacklisted(self, host: HostKey) -> bool:
        """Tell whether nothing is to be asked of a host."""
        return self.any and self.of(host).blacklist


class SiteRates(JobRates):
    """How often hosts may be asked; those of which nothing is asked count nowhere."""

    def __init__(self, job: Job, sites: SiteRules) -> None:
        super().__init__(job, sites.rates)
        self._sites = sites

    def __call__(self, host: HostKey) -> Rates:
        """Return the rates that count for a host now."""
        sites = self._sites
        if not sites.any:
            return self._own
        return NO_RATES if sites.is_blacklisted(host) else super().__call__(host)
