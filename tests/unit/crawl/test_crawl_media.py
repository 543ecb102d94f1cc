"""Files that pages show: which are queued, how, and what becomes of them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from crawl_rig import HOME, SITE, CrawlRig, Web, make_job

from skitter.crawl.trip import Visit
from skitter.errors import BodyTooLarge
from skitter.frontier.model import Link, Result
from skitter.testing.fake_fetcher import page
from skitter.types import PageClass, Role

CDN = "http://cdn.test"
SHOWN = f'<img src=/a.png><img src="{CDN}/b.png"><video src=/c.mp4></video>'
MakeRig = Callable[..., Awaitable[CrawlRig]]


@pytest.fixture
def web() -> Web:
    found = Web()
    found.robots("")
    found.robots("User-agent: *\nDisallow: /no", CDN)
    return found


@pytest.fixture
async def make_rig(tmp_path: Path, web: Web) -> AsyncIterator[MakeRig]:
    rigs: list[CrawlRig] = []

    async def make(**fields: Any) -> CrawlRig:
        rig = CrawlRig(tmp_path, web, make_job(**{"media": ["image"], **fields}))
        rigs.append(rig)
        await rig.open()
        rig.judge.scope.add(HOME)
        return rig

    yield make
    for rig in rigs:
        await rig.close()


async def visit_home(rig: CrawlRig) -> Visit:
    await rig.frontier.offer([rig.equipment.sitemaps.entry(rig.normal(HOME))])
    [lease] = await rig.claim(1)
    return await rig.visitor.visit(lease)


def media_of(visit: Visit) -> list[Link]:
    return [link for link in visit.links if link.role is Role.MEDIA]


async def visit_media(rig: CrawlRig, url: str, kind: str = "image") -> Visit:
    """Visit a file as if a page had shown it."""
    normal = rig.normaliser.in_role(rig.normal(url), Role.MEDIA)
    link = Link(normal.url, normal.fp, normal.host, rig.number, role=Role.MEDIA, data=kind.encode())
    await rig.frontier.offer([link])
    [lease] = [one for one in await rig.claim(10) if one.role is Role.MEDIA]
    return await rig.visitor.visit(lease)


async def test_files_are_queued_a_step_behind_their_page(make_rig: MakeRig, web: Web) -> None:
    web.html(HOME, SHOWN)
    visit = await visit_home(await make_rig(priority=4))
    assert visit.record is not None
    near, far = media_of(visit)
    assert (near.url, far.url) == (f"{SITE}/a.png", f"{CDN}/b.png")
    assert (near.priority, near.depth, near.page_class) == (3, 0, PageClass.DATA)
    assert (near.referrer, near.data) == (HOME, b"image")
    assert visit.record.media == [
        {"url": f"{SITE}/a.png", "kind": "image"},
        {"url": f"{CDN}/b.png", "kind": "image"},
    ]


@pytest.mark.parametrize(
    ("fields", "said", "kinds"),
    [
        ({"media": []}, "", []),
        ({"media": ["video"], "priority": 0}, "", ["video"]),
        ({"media": ["image", "video"]}, "noimageindex", ["video"]),
        ({}, "noindex", []),
        ({}, "nofollow", ["image", "image"]),
        ({"limits": {"media_per_page": 1}}, "", ["image"]),
        # The entry of a news job is a page of links.
        ({"kind": "news"}, "", []),
    ],
)
async def test_what_a_job_and_a_page_say_decides(
    make_rig: MakeRig, web: Web, fields: dict[str, Any], said: str, kinds: list[str]
) -> None:
    web.html(HOME, f'<meta name=robots content="{said}">{SHOWN}')
    visit = await visit_home(await make_rig(**fields))
    assert visit.record is not None
    assert [link.data.decode() for link in media_of(visit)] == kinds
    assert [one["kind"] for one in visit.record.media] == kinds


@pytest.mark.parametrize(
    ("headers", "body", "outcome"),
    [
        ({"content-type": "image/png"}, "\x00\x01", "ok"),
        ({"content-type": "image/svg+xml"}, "<!-- x --><svg>", "ok"),
        ({"content-type": "image/png", "x-robots-tag": "noindex"}, "\x00", "noindex"),
        ({"content-type": "image/png"}, "<html>", "skipped"),
    ],
)
async def test_a_file_is_kept_by_its_type(
    make_rig: MakeRig, web: Web, headers: dict[str, str], body: str, outcome: str
) -> None:
    web[f"{SITE}/x.png"] = page(f"{SITE}/x.png", body, headers=headers)
    visit = await visit_media(await make_rig(), f"{SITE}/x.png")
    assert visit.record is not None
    assert (visit.record.outcome, visit.record.page_class) == (outcome, "media")
    assert visit.page is None
    assert (visit.media is not None) == (outcome in {"ok", "noindex"})
    assert not visit.links


async def test_a_file_that_is_too_large_says_the_cap(make_rig: MakeRig, web: Web) -> None:
    web[f"{SITE}/x.png"] = BodyTooLarge(f"{SITE}/x.png", "more than it may")
    visit = await visit_media(await make_rig(limits={"media_bytes": 7}), f"{SITE}/x.png")
    assert visit.record is not None
    assert visit.result is Result.DEAD
    assert visit.record.error == "more than it may, and limits.media_bytes is 7"


async def test_robots_txt_of_the_other_host_is_obeyed(make_rig: MakeRig) -> None:
    visit = await visit_media(await make_rig(), f"{CDN}/no/x.png")
    assert visit.record is not None
    assert visit.record.outcome == "refused"


async def test_a_file_is_not_asked_for_once_the_job_wants_none_of_its_kind(
    make_rig: MakeRig,
) -> None:
    rig = await make_rig()
    visit = await visit_media(rig, f"{SITE}/x.mp4", "video")
    assert visit.record is not None
    assert (visit.record.outcome, visit.result) == ("skipped", Result.DONE)
    assert [freed.unasked for freed in rig.freed] == [True]
