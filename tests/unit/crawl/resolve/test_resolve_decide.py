"""What becomes of a URL, by what is known of it."""

import pytest

from skitter.crawl.resolve.decide import TARGET_MS, answers, is_blocked, lacks_files, why_blocked
from skitter.crawl.resolve.found import Kept, Page
from skitter.crawl.resolve.lane import LANE, lane_job
from skitter.crawl.site_rules import SiteRules
from skitter.fetch.guard import AddressGuard
from skitter.politeness.settings.live import LiveSettings
from skitter.politeness.settings.table import Table
from skitter.types import HostKey

AT = "2026-01-31T09:30:00.000Z"
AT_MS = 1769851800000


def kept(outcome: str = "ok", job: str = LANE, **given: object) -> Kept:
    return Kept(job=job, url="https://a.test/", outcome=outcome, fetched_at=AT, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("outcome", "job", "wanted"),
    [
        ("ok", "crawl", True), ("noindex", "crawl", True), ("http_error", "crawl", True),
        ("refused", "crawl", False), ("skipped", "crawl", False), ("rejected", "crawl", False),
        ("failed", "crawl", False), ("refused", LANE, True), ("failed", LANE, True),
        ("skipped", LANE, True),
    ],
)  # fmt: skip
def test_a_record_of_another_job_counts_where_it_tells_of_the_page_itself(
    outcome: str, job: str, wanted: bool
) -> None:
    assert answers(Page(kept(outcome, job)), AT_MS, "", AT_MS) is wanted


def test_a_page_is_an_answer_while_it_is_young_enough() -> None:
    assert answers(Page(kept()), AT_MS, "", AT_MS)
    assert not answers(Page(kept()), AT_MS + 1, "", AT_MS)


def test_a_redirect_is_an_answer_with_its_page_or_when_that_takes_too_long() -> None:
    leads = kept("duplicate", duplicate_of="https://b.test/")
    assert answers(Page(leads, kept()), AT_MS, "", AT_MS)
    assert not answers(Page(leads), AT_MS, "", AT_MS + TARGET_MS)
    assert answers(Page(leads), AT_MS, "", AT_MS + TARGET_MS + 1)


def test_files_have_to_have_been_asked_for() -> None:
    with_images = kept(labels={"media": "audio,image"})
    assert answers(Page(with_images), AT_MS, "image", AT_MS)
    assert not answers(Page(with_images), AT_MS, "image,video", AT_MS)
    assert not answers(Page(kept()), AT_MS, "image", AT_MS)
    assert answers(Page(kept("http_error")), AT_MS, "image", AT_MS)
    assert lacks_files(Page(kept()), AT_MS, "image")
    assert not lacks_files(Page(kept()), AT_MS + 1, "image")
    assert not lacks_files(Page(kept()), AT_MS, "")


def test_what_was_refused_is_blocked() -> None:
    assert is_blocked(Page(kept("refused")))
    assert is_blocked(Page(kept("duplicate", duplicate_of="x"), kept("refused")))
    assert not is_blocked(Page(kept("failed")))


@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("10.0.0.1", "private"), ("127.0.0.1:8080", "loopback"), ("[::1]", "loopback"),
        ("localhost:9", "loopback"), ("a.localhost", "loopback"),
        ("169.254.169.254", "cloud metadata"), ("bad.test", "blacklisted"),
        ("93.184.216.34", None), ("good.test", None),
    ],
)  # fmt: skip
def test_addresses_and_settings_forbid_what_need_not_be_tried(host: str, why: str | None) -> None:
    table = Table()
    table = table.with_row(table.changed("bad.test", {"blacklist": True}, "ana", 0))
    sites = SiteRules(lane_job(), LiveSettings(table))
    found = why_blocked(HostKey(host), sites, AddressGuard())
    assert (found is None) if why is None else (found is not None and why in found)


def test_the_operator_may_allow_all_but_metadata() -> None:
    sites, guard = SiteRules(lane_job()), AddressGuard(allow_private=True)
    assert why_blocked(HostKey("127.0.0.1:80"), sites, guard) is None
    assert why_blocked(HostKey("localhost"), sites, guard) is None
    assert why_blocked(HostKey("169.254.169.254"), sites, guard) is not None
