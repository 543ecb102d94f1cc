"""How often the hosts of one job may be asked: what is set for them, else what the job says."""

from collections.abc import Callable

from skitter.job.rate import Rate
from skitter.job.spec import Job
from skitter.politeness.windows import NO_RATES, Rates
from skitter.types import HostKey


class JobRates:
    """The rates of one job; ``set_for`` tells what an operator has set for a host."""

    def __init__(self, job: Job, set_for: Callable[[HostKey], Rates] = lambda _: NO_RATES) -> None:
        self._set_for = set_for
        own = Rates(_read(job.polite.rate), _read(job.polite.rate_ip))
        self._own = NO_RATES if own == NO_RATES else own

    def __call__(self, host: HostKey) -> Rates:
        """Return the rates that count for a host now."""
        found = self._set_for(host)
        if found == NO_RATES:
            return self._own
        return Rates(found.by_kind or self._own.by_kind, found.by_address or self._own.by_address)


def _read(text: str | None) -> Rate | None:
    return None if text is None else Rate.parse(text)
