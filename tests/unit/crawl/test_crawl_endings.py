"""How visits end, and what of a trip every ending keeps."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from crawl_rig import HOME, SITE, CrawlRig, Web, fake_lease, make_job

from skitter.crawl.endings import Endings
from skitter.crawl.trip import Kept, Trip, Visit
from skitter.errors import (
    AddressRefused,
    ConnectError,
    TlsError,
    TooManyRedirects,
    TypeRefused,
)
from skitter.fetch.base import Raw
from skitter.frontier.model import Hop, Link, Result
from skitter.politeness.decision import Code, Decision
from skitter.politeness.pace import Verdict
from skitter.testing.fake_fetcher import page
from skitter.types import HostKey, Outcome, Role

HOST = HostKey("site.test")
VERDICT = Verdict(0, 0, None, "")
KEPT = Kept(url=HOME, at_ms=0, raw=Raw(b"", b"", 0), address="", cut="")
RESPONSE = page(HOME, status=503)

End = Callable[[Endings, Trip], Visit]
ENDS: dict[str, End] = {
    "ok": lambda endings, trip: endings.end(trip, Outcome.OK, None, response=page(HOME)),
    "refused": lambda endings, trip: endings.refused(trip, Decision.refuse(Code.SCOPE, "why")),
    "later": lambda endings, trip: endings.later(trip, Result.RETRY, 1, "why"),
    "deferred": lambda endings, trip: endings.later(trip, Result.DEFER, None, ""),
    "put off": lambda endings, trip: endings.put_off(trip, RESPONSE, VERDICT),
    "given up": lambda endings, trip: endings.put_off(
        trip, RESPONSE, VERDICT._replace(give_up=True)
    ),
    "type": lambda endings, trip: endings.failed(
        trip, TypeRefused(HOME, "why", status=200, content_type="video/mp4")
    ),
    "address": lambda endings, trip: endings.failed(trip, AddressRefused(HOME, "why")),
    "circle": lambda endings, trip: endings.failed(trip, TooManyRedirects(HOME, "why")),
    "lasting": lambda endings, trip: endings.failed(trip, TlsError(HOME, "why")),
    "passing": lambda endings, trip: endings.failed(trip, ConnectError(HOME, "why")),
}
AGAIN = {"later", "deferred", "put off", "passing"}
DONE = {"ok", "type"}


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[CrawlRig]:
    made = CrawlRig(tmp_path, Web(), make_job(http={"tries": 2}))
    await made.open()
    yield made
    await made.close()


def link(rig: CrawlRig, path: str) -> Link:
    return rig.finder.make_link(rig.normal(f"{SITE}{path}"), 1)


@pytest.mark.parametrize("name", ENDS)
async def test_every_ending_keeps_what_the_trip_met_and_loses_no_link(
    rig: CrawlRig, name: str
) -> None:
    target = link(rig, "/target")
    trip = Trip(fake_lease(), HOME, HOST, found=[link(rig, "/met")], kept=[KEPT])
    trip.hops.append(Hop(target.fp, HOST))
    assert rig.reservations.reserve(target.fp)
    assert rig.reservations.pass_on([target]) == []
    visit = ENDS[name](Endings(rig.equipment), trip)
    assert visit.kept == [KEPT]
    assert link(rig, "/met") in visit.links
    # The target is settled by this visit, or the link to it goes on its way.
    settled = [hop.fp for hop in visit.hops] == [target.fp]
    assert settled != (target in visit.links)


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("role", Role)
async def test_an_ending_has_a_record_unless_the_url_is_tried_again(
    rig: CrawlRig, name: str, role: Role
) -> None:
    visit = ENDS[name](Endings(rig.equipment), Trip(fake_lease(role=role), HOME, HOST))
    if name in AGAIN:
        assert visit.record is None
        assert visit.result in (Result.RETRY, Result.DEFER)
        return
    assert visit.record is not None
    named = {Role.PAGE: "data", Role.SITEMAP: "sitemap", Role.MEDIA: "media"}
    assert visit.record.page_class == named[role]
    assert visit.result is (Result.DONE if name in DONE else Result.DEAD)
    assert (visit.record.error is None) == (name == "ok")


@pytest.mark.parametrize("name", ["put off", "passing"])
async def test_the_last_try_ends_with_a_record(rig: CrawlRig, name: str) -> None:
    visit = ENDS[name](Endings(rig.equipment), Trip(fake_lease(attempts=1), HOME, HOST))
    assert visit.record is not None
    assert visit.result is Result.DEAD


async def test_another_try_waits_as_long_as_the_site_asks(rig: CrawlRig) -> None:
    until = rig.clock.now_ms() + 3_600_000
    verdict = VERDICT._replace(retry_at_ms=until)
    visit = Endings(rig.equipment).put_off(Trip(fake_lease(), HOME, HOST), RESPONSE, verdict)
    assert visit.at_ms == until


async def test_a_record_has_the_time_of_its_answer(rig: CrawlRig) -> None:
    trip = Trip(fake_lease(), HOME, HOST, answered_ms=rig.clock.now_ms())
    rig.clock.advance(5)
    endings = Endings(rig.equipment)
    answered = endings.end(trip, Outcome.OK, None, response=page(HOME)).record
    unanswered = endings.failed(trip, TlsError(HOME, "why")).record
    assert answered is not None
    assert unanswered is not None
    assert answered.fetched_at < unanswered.fetched_at
