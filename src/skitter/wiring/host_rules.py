"""How hosts are to be asked by the settings: what gates are told of them."""

from skitter.frontier.tuning import HostRule
from skitter.politeness.settings.live import LiveSettings, MarkReader
from skitter.politeness.settings.table import SiteSettings
from skitter.types import HostKey


class HostRules:
    """The rules by the settings of any moment."""

    def __init__(self, live: LiveSettings) -> None:
        self._live = live

    def __bool__(self) -> bool:
        return self._live.any

    def __call__(self, host: HostKey) -> HostRule:
        """Return the rule of a host."""
        return host_rule(self._live.of(host))


async def stored_rules(reader: MarkReader) -> HostRules:
    """Return the rules by the settings that are in a store now."""
    live = LiveSettings()
    await live.refresh(reader)
    return HostRules(live)


def host_rule(found: SiteSettings) -> HostRule:
    """Return what is set for a host as its gate knows it."""
    delay_ms = None if found.delay is None else round(found.delay * 1000)
    return HostRule(delay_ms, found.per_host, found.blacklist)
