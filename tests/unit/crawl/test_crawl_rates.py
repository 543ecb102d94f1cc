"""What counts for a host: the setting of an operator before the word of a job."""

from skitter.crawl.rates import JobRates
from skitter.job.rate import Rate
from skitter.job.spec import Job, check_job
from skitter.politeness.windows import NO_RATES, Rates
from skitter.types import HostKey

HOST = HostKey("www.example.com")


def job(**polite: object) -> Job:
    return check_job({"entries": ["https://example.com/"], "polite": polite}, "test")


def test_a_job_without_a_rate_has_none() -> None:
    assert JobRates(job())(HOST) == NO_RATES


def test_a_job_says_how_often_its_hosts_may_be_asked() -> None:
    rates = JobRates(job(rate="20/60s", rate_ip="10/1m"))
    assert rates(HOST) == Rates(Rate(20, 60_000), Rate(10, 60_000))


def test_what_is_set_for_a_host_comes_first() -> None:
    own = job(rate="20/60s", rate_ip="10/60s")
    rates = JobRates(own, lambda _: Rates(by_kind=Rate(5, 1_500)))
    assert rates(HOST) == Rates(Rate(5, 1_500), Rate(10, 60_000))
    rates = JobRates(job(), lambda _: Rates(by_address=Rate(2, 60_000)))
    assert rates(HOST) == Rates(None, Rate(2, 60_000))
