import gzip
import re
from contextlib import suppress
from io import BytesIO
from xml.etree import ElementTree as ET

import pytest

from skitter.demo import gazette, tides
from skitter.demo.build import demo_web
from skitter.demo.listing import GUESSES, WELL_KNOWN, site_map
from skitter.demo.model import Target
from skitter.demo.server import Hit
from skitter.demo.truth import GroundTruth, Plan, ground_truth
from skitter.demo.verify import record_problems, request_problems
from skitter.demo.wire import Asked, reply_to, robots_page
from skitter.types import Outcome

WEB = demo_web().at_port(8123)
SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
ATOM = "{http://www.w3.org/2005/Atom}"
ENTRY = Target(gazette.NAME, "/")


def truth_of(sitemaps: str, site: str = gazette.NAME) -> GroundTruth:
    assert sitemaps in {"auto", "only", "no"}
    plan = Plan(entries=(Target(site, "/"),), scope="host", sitemaps=sitemaps)  # type: ignore[arg-type]
    return ground_truth(WEB, plan)


AUTO, ONLY, NO = truth_of("auto"), truth_of("only"), truth_of("no")


def got(url: str) -> tuple[int, str, bytes]:
    """Return status, content type and body of a plain request."""
    target = WEB.target_of(url)
    assert target is not None
    reply = reply_to(WEB, robots_page(WEB, target) or WEB.page(target), Asked())
    head, _, body = b"".join(reply.pieces).partition(b"\r\n\r\n")
    media_type = re.search(rb"Content-Type: ([^\r]+)", head)
    assert media_type is not None
    return reply.status, media_type[1].decode(), body


def locations(body: bytes) -> tuple[str, list[str]]:
    """Return the root element and the addresses of a file, as far as it can be read."""
    if not body.startswith(b"<?xml"):
        return "text", body.decode().split()
    started, ended = list[ET.Element](), list[ET.Element]()
    with suppress(ET.ParseError):
        for event, element in ET.iterparse(BytesIO(body), ["start", "end"]):
            (started if event == "start" else ended).append(element)
    found = [element.text or "" for element in ended if element.tag == f"{SITEMAP}loc"]
    found += [link.text or "" for item in ended if item.tag == "item" for link in item.iter("link")]
    found += [
        link.attrib["href"]
        for entry in ended
        if entry.tag == f"{ATOM}entry"
        for link in entry.iter(f"{ATOM}link")
    ]
    return started[0].tag.removeprefix(SITEMAP).removeprefix(ATOM), found


def crawl_of_sitemaps(site: str) -> tuple[dict[str, str], list[str]]:
    """Return what each sitemap of ``site`` turns out to be, and the addresses of all of them."""
    _, _, robots = got(f"{WEB.entry_of(site)}robots.txt")
    waiting = re.findall(r"(?m)^Sitemap: (\S+)", robots.decode())
    waiting = waiting or [f"{WEB.entry_of(site)}{WELL_KNOWN[1:]}"]
    kinds, found = dict[str, str](), list[str]()
    while waiting:
        url = waiting.pop()
        if url in kinds:
            continue
        status, media_type, body = got(url)
        if status != 200 or media_type.startswith("text/html"):
            kinds[url] = f"{status} {media_type}"
            continue
        kinds[url], listed = locations(gzip.decompress(body) if url.endswith(".gz") else body)
        (waiting if kinds[url] == "sitemapindex" else found).extend(listed)
    return kinds, found


@pytest.mark.parametrize("site", [gazette.NAME, tides.NAME])
def test_the_sitemaps_list_exactly_what_the_truth_says(site: str) -> None:
    kinds, found = crawl_of_sitemaps(site)
    truth = truth_of("only", site)
    in_scope = {target for url in found if (target := WEB.target_of(url)) and target.site == site}
    assert in_scope == {target for target, e in truth.expected.items() if not e.optional}
    assert {WEB.target_of(url) for url in kinds} == truth.sitemaps
    assert site_map(WEB, site).files == truth.sitemaps


def test_there_are_sitemaps_of_every_kind_and_some_that_are_broken() -> None:
    kinds, _ = crawl_of_sitemaps(gazette.NAME)
    assert set(kinds.values()) == {
        "sitemapindex", "urlset", "text", "rss", "feed", "404 text/html; charset=utf-8",
        "200 text/html; charset=utf-8",
    }  # fmt: skip
    assert sum(kind == "sitemapindex" for kind in kinds.values()) == 2


def test_an_index_lists_itself_and_the_one_above() -> None:
    _, _, body = got(f"{WEB.entry_of(gazette.NAME)}sitemaps/{gazette.LOOP}")
    _, listed = locations(body)
    assert f"{WEB.entry_of(gazette.NAME)}sitemaps/{gazette.LOOP}" in listed
    assert f"{WEB.entry_of(gazette.NAME)[:-1]}{gazette.INDEX}" in listed


def test_one_sitemap_breaks_off_within_an_address_after_some_whole_ones() -> None:
    _, _, body = got(f"{WEB.entry_of(gazette.NAME)}sitemaps/cut.xml")
    with pytest.raises(ET.ParseError):
        ET.fromstring(body)
    _, listed = locations(body)
    assert len(listed) >= 2
    torn = body.rpartition(b"<loc>")[2].decode()
    assert b"<" not in torn.encode()
    assert WEB.target_of(torn) not in AUTO.expected


def test_what_is_said_of_the_pages_varies() -> None:
    _, _, body = got(f"{WEB.entry_of(gazette.NAME)}sitemaps/main.xml")
    tree = ET.fromstring(body)
    for name in ("lastmod", "priority", "changefreq"):
        said = {element.text for element in tree.iter(f"{SITEMAP}{name}")}
        assert len(said) >= 3, name
    assert "&amp;" in body.decode()


def test_pictures_and_papers_are_named_in_the_tags_of_the_extensions() -> None:
    _, _, body = got(f"{WEB.entry_of(gazette.NAME)}sitemaps/press.xml")
    tags = {element.tag.rpartition("}")[2] for element in ET.fromstring(body).iter()}
    assert {"news", "publication_date", "image", "loc"} <= tags
    picture = re.search(r"<image:loc>([^<]+)", body.decode())
    assert picture is not None
    assert WEB.target_of(picture[1]) not in AUTO.expected


def test_most_notices_are_only_in_sitemaps_and_the_links_of_some_lead_further() -> None:
    assert NO.pages < AUTO.pages
    assert ONLY.pages < AUTO.pages
    assert len(AUTO.pages - NO.pages) > len(NO.pages)
    beyond = {url for url in AUTO.pages - NO.pages if "/annex/" in url}
    assert beyond
    assert AUTO.pages - ONLY.pages >= beyond
    assert NO.sitemaps == frozenset()


def test_what_is_listed_is_judged_like_what_is_linked() -> None:
    expected = AUTO.expected
    assert expected[Target(gazette.NAME, gazette.DRAFT)].outcomes == {Outcome.REFUSED}
    assert expected[Target(gazette.NAME, gazette.MISSING)].outcomes == {Outcome.HTTP_ERROR}
    assert Outcome.DUPLICATE in expected[Target(gazette.NAME, gazette.OLD)].outcomes
    assert not any(target.site == "partner" for target in expected)
    assert NO.never() > {WEB.url(Target(gazette.NAME, gazette.DRAFT))}


def test_where_no_sitemap_is_mentioned_the_well_known_place_has_one() -> None:
    assert "Sitemap" not in WEB.sites[tides.NAME].robots.text("http://x")
    auto, off = truth_of("auto", tides.NAME), truth_of("no", tides.NAME)
    assert len(auto.pages - off.pages) == len(tides.UNLINKED)


@pytest.mark.parametrize("site", sorted(set(WEB.sites) - {tides.NAME}))
def test_no_other_site_has_one_there(site: str) -> None:
    assert WEB.page(Target(site, WELL_KNOWN)).answer.status == 404


def test_a_crawl_of_everything_reads_the_sitemaps_that_are_mentioned() -> None:
    auto, off = ground_truth(WEB, Plan(sitemaps="auto")), ground_truth(WEB, Plan(sitemaps="no"))
    assert {target.site for target in auto.sitemaps} == {gazette.NAME}
    gained = {target.site for url in auto.pages - off.pages if (target := WEB.target_of(url))}
    assert gained == {gazette.NAME}
    assert off.pages < auto.pages


def test_an_entry_that_is_not_listed_may_be_left_out_where_only_sitemaps_count() -> None:
    truth = truth_of("only", "news")
    (entry,) = truth.expected.values()
    assert entry.optional
    assert (entry.least, entry.most) == (0, 1)


def hits_of(truth: GroundTruth) -> list[Hit]:
    host = WEB.host_key(gazette.NAME)
    asked = [target.path for target in truth.sitemaps]
    asked += [e.target.path for e in truth.expected.values() for _ in range(e.least)]
    return [Hit(host, path, 200, 0.0) for path in ("/robots.txt", *asked)]


@pytest.mark.parametrize("truth", [AUTO, ONLY, NO], ids=["auto", "only", "no"])
def test_a_right_crawl_is_found_right(truth: GroundTruth) -> None:
    assert list(request_problems(truth, hits_of(truth))) == []


def test_a_sitemap_is_to_be_asked_for_once() -> None:
    hits = hits_of(AUTO)
    index = next(hit for hit in hits if hit.path == gazette.INDEX)
    (twice,) = request_problems(AUTO, [*hits, index])
    assert "asked for 2 times, at most 1" in twice
    (never,) = request_problems(AUTO, [hit for hit in hits if hit != index])
    assert "asked for 0 times, at least 1" in never
    (off,) = request_problems(NO, [*hits_of(NO), index])
    assert "must never be" in off


def test_a_crawl_that_reads_sitemaps_may_guess_where_one_is_and_no_other() -> None:
    guess = Hit(WEB.host_key(gazette.NAME), WELL_KNOWN, 404, 0.0)
    assert WELL_KNOWN in GUESSES
    assert list(request_problems(AUTO, [*hits_of(AUTO), guess])) == []
    (problem,) = request_problems(NO, [*hits_of(NO), guess])
    assert "must never be" in problem


def test_it_does_not_guess_on_hosts_that_it_was_not_sent_to() -> None:
    host = WEB.host_key(tides.NAME)
    hits = [Hit(host, "/robots.txt", 200, 0.0), Hit(host, WELL_KNOWN, 200, 0.0)]
    whole = ground_truth(WEB, Plan(sitemaps="auto"))
    assert any("must never be" in problem for problem in request_problems(whole, hits))


def test_a_record_of_a_sitemap_is_neither_asked_for_nor_wrong() -> None:
    records = [{"url": WEB.url(file), "outcome": "ok"} for file in AUTO.sitemaps]
    assert list(record_problems(AUTO, records)) == list(record_problems(AUTO, []))
