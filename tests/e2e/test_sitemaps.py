"""Sitemaps: what they list is found, their order counts, and bad ones do no harm."""

import gzip
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, NamedTuple

import pytest
from crawling import Record, Run, facts, site_run, summary
from measuring import with_peak
from serving import Answer, SmallSite

from skitter.demo.child import DemoProcess
from skitter.demo.gazette import INDEX
from skitter.demo.model import Target
from skitter.demo.server import Hit
from skitter.demo.truth import Plan, ground_truth
from skitter.demo.verify import problems

pytestmark = pytest.mark.e2e

Mode = Literal["auto", "only", "no"]
MODES: list[Mode] = ["auto", "only", "no"]
SITES = ["gazette", "tides"]


class Crawled(NamedTuple):
    run: Run
    records: list[Record]
    hits: list[Hit]
    said: str


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoProcess]:
    with DemoProcess(pages=200, log=tmp_path_factory.mktemp("demo") / "hits") as running:
        yield running


def crawled(run: Run, demo: DemoProcess) -> Crawled:
    before = len(demo.hits())
    said = run.told()
    return Crawled(run, run.records(), demo.hits()[before:], said)


@pytest.fixture(scope="module")
def crawls(demo: DemoProcess, tmp_path_factory: pytest.TempPathFactory) -> dict[Mode, Crawled]:
    """A finished crawl of the two sites with sitemaps, one for each way of using these."""
    place = tmp_path_factory.mktemp("sitemaps")
    return {
        mode: crawled(site_run(place / mode, demo, SITES, "--sitemaps", mode), demo)
        for mode in MODES
    }


@pytest.mark.parametrize("mode", MODES)
def test_a_crawl_brings_what_its_way_of_using_sitemaps_promises(
    demo: DemoProcess, crawls: dict[Mode, Crawled], mode: Mode
) -> None:
    entries = tuple(Target(site, "/") for site in SITES)
    truth = ground_truth(demo.web, Plan(entries=entries, scope="host", sitemaps=mode))
    assert problems(truth, crawls[mode].records, crawls[mode].hits) == []


def test_each_way_of_using_sitemaps_brings_other_pages(crawls: dict[Mode, Crawled]) -> None:
    found = {mode: {r["url"] for r in crawl.records} for mode, crawl in crawls.items()}
    assert found["auto"] > found["no"]
    assert found["auto"] > found["only"]
    assert found["only"] - found["no"], "pages that only sitemaps list"
    assert found["no"] - found["only"], "pages that no sitemap lists"


def test_a_sitemap_is_no_page_and_has_no_record_among_them(crawls: dict[Mode, Crawled]) -> None:
    asked = [hit for hit in crawls["auto"].hits if hit.path == INDEX]
    assert len(asked) == 1
    urls = {record["url"] for record in crawls["auto"].records}
    assert not any("/sitemap" in url for url in urls)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/sitemaps/gone.xml", ["404"]),
        ("/sitemaps/page.xml", ["HTML", "not a sitemap"]),
        ("/sitemaps/cut.xml", ["breaks off"]),
    ],
)
def test_a_broken_sitemap_is_named_by_the_page_command(
    demo: DemoProcess, crawls: dict[Mode, Crawled], path: str, words: list[str]
) -> None:
    found = facts(crawls["auto"].run.data, demo.web.url(Target("gazette", path)))
    assert [word for word in words if word not in found["why"]] == []
    assert found["record"]["referrer"] == demo.web.url(Target("gazette", INDEX))


def test_the_summary_counts_sitemaps_and_those_that_are_broken(
    crawls: dict[Mode, Crawled],
) -> None:
    def line(mode: Mode) -> list[str]:
        return [row for row in crawls[mode].said.splitlines() if row.strip().startswith("sitemaps")]

    [words] = line("auto")
    assert "read" in words
    assert "listed" in words
    assert "3 broken or missing" in words
    assert line("no") == []


def test_a_sitemap_can_be_the_entry(demo: DemoProcess, tmp_path: Path) -> None:
    run = site_run(tmp_path, demo, ["gazette"], "--sitemaps", "only")
    run.arguments = [demo.web.url(Target("gazette", INDEX))]
    got = crawled(run, demo)
    plan = Plan(entries=(Target("gazette", "/"),), scope="host", sitemaps="only")
    assert problems(ground_truth(demo.web, plan), got.records, got.hits) == []


# Made by the test itself


def listing(*entries: str) -> Answer:
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return Answer(f'<urlset xmlns="{space}">{"".join(entries)}</urlset>'.encode(), "text/xml")


def test_important_and_fresh_pages_come_first(tmp_path: Path) -> None:
    names = ["low", "plain", "old", "fresh", "high"]
    with SmallSite({f"/{name}": f"<p>{name}</p>" for name in names}) as site:
        today = datetime.now(UTC).date()
        details = {
            "low": "<priority>0.1</priority>",
            "plain": "",
            "old": f"<lastmod>{today - timedelta(days=4000)}</lastmod>",
            "fresh": f"<lastmod>{today - timedelta(days=2)}</lastmod>",
            "high": "<priority>1.0</priority>",
        }
        entries = [f"<url><loc>{site.url(f'/{name}')}</loc>{details[name]}</url>" for name in names]
        site.answers["/sitemap.xml"] = listing(*entries)
        site.answers["/"] = Answer(b"<a href=/linked>linked</a>")
        summary(site.run(tmp_path).finish())
    pages = [path.strip("/") for path in site.asked if path.strip("/") in names]
    assert pages == ["high", "fresh", "old", "plain", "low"]


PIECES = 1_000
PER_PIECE = 52


class Large:
    """A sitemap as large as sitemaps may be, made while it is sent."""

    def __init__(self, site: SmallSite, pieces: int) -> None:
        self._site = site
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        yield b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        padding = "<lastmod>2025-01-01</lastmod>" + "<note>" + "x" * 900 + "</note>"
        for piece in range(self._pieces):
            urls = (self._site.url(f"/page/{piece}-{n}.html") for n in range(PER_PIECE))
            yield "".join(f"<url><loc>{url}</loc>{padding}</url>\n" for url in urls).encode()
        yield b"</urlset>"


def peak_of(place: Path, site: SmallSite, entry: str, *flags: str) -> tuple[Run, float]:
    """Crawl with a look at the memory; return the crawl and its peak in megabytes."""
    run = site.run(place, entry, *flags)
    done, peak = with_peak(run.command(), place / "peak")
    summary(done)
    return run, peak


def test_a_sitemap_of_fifty_megabytes_takes_no_more_memory_than_a_small_one(
    tmp_path: Path,
) -> None:
    flags = ["--sitemaps", "only", "--pages", "5"]
    with SmallSite({}) as site:
        site.answers["/small.xml"] = Answer(Large(site, 1), "text/xml")
        site.answers["/large.xml"] = Answer(Large(site, PIECES), "text/xml")
        _, small = peak_of(tmp_path / "small", site, "/small.xml", *flags)
        before = site.sent
        run, large = peak_of(tmp_path / "large", site, "/large.xml", *flags)
        sitemap = facts(run.data, site.url("/large.xml"))
    assert site.sent - before > 50_000_000
    assert sitemap["record"]["n_links"] == PIECES * PER_PIECE
    assert len(run.records()) == 5
    assert large < small + 60, f"{large:.0f} MB instead of {small:.0f} MB"


class Endless(dict[str, Answer]):
    """Answers of a site where every path below /maps is an index of twenty more."""

    def __init__(self, site: SmallSite) -> None:
        super().__init__(site.answers)
        self._site = site

    def get(self, path: str, default: Answer) -> Answer:  # type: ignore[override]
        if not path.startswith("/maps"):
            return super().get(path, default)
        below = (self._site.url(f"{path}/{n}") for n in range(20))
        listed = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in below)
        return Answer(f"<sitemapindex>{listed}</sitemapindex>".encode(), "text/xml")


def test_a_site_of_endless_sitemaps_keeps_no_page_back(tmp_path: Path) -> None:
    pages = {f"/{n}": f"page {n}" for n in range(12)}
    home = "".join(f"<a href={path}>x</a>" for path in pages)
    with SmallSite({"/": home, **pages}) as site:
        site.answers["/robots.txt"] = Answer(f"Sitemap: {site.url('/maps')}".encode(), "text/plain")
        site.answers = Endless(site)
        run = site.run(tmp_path, "/", "--pages", "13")
        summary(run.finish())
    assert len(run.records()) == 13
    assert sum(path.startswith("/maps") for path in site.asked) < 100


def test_the_large_error_page_of_a_missing_sitemap_is_not_read(tmp_path: Path) -> None:
    with SmallSite({"/": "home"}) as site:
        pieces = [b"x" * 100_000] * 500
        site.answers["/sitemap.xml"] = Answer(pieces, "text/html", 404)
        _, peak = peak_of(tmp_path / "crawl", site, "/")
    assert "/sitemap_index.xml" in site.asked
    assert site.sent < 50_000_000
    assert peak < 150, f"{peak:.0f} MB"


LAUGHS = "".join(
    f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' if n else '<!ENTITY l0 "ha">' for n in range(12)
)
HARMFUL = {
    "/laughs.xml": Answer(
        f"<!DOCTYPE urlset [{LAUGHS}]><urlset><url><loc>&l11;</loc></url></urlset>".encode(),
        "text/xml",
    ),
    "/html.xml": Answer(b"<!doctype html><title>Map</title><a href=/from-html>x</a>", "text/xml"),
    "/bomb.xml.gz": Answer(gzip.compress(b"<urlset>" + b" " * 300_000_000, 1), "application/gzip"),
    "/noise.xml": Answer(bytes(range(256)) * 50, "text/xml"),
    "/empty.xml": Answer(b"", "text/xml"),
}


def test_harmful_sitemaps_are_named_and_keep_no_page_back(tmp_path: Path) -> None:
    with SmallSite({"/": "<a href=/one>one</a>", "/one": "one", "/two": "two", **HARMFUL}) as site:
        site.answers["/good.xml"] = listing(f"<url><loc>{site.url('/two')}</loc></url>")
        maps = [f"Sitemap: {site.url(path)}\n" for path in (*HARMFUL, "/good.xml")]
        site.answers["/robots.txt"] = Answer("".join(maps).encode(), "text/plain")
        run, peak = peak_of(tmp_path / "crawl", site, "/")
        said = {path: facts(run.data, site.url(path)) for path in HARMFUL}
    assert {r["url"] for r in run.records()} == {site.url(path) for path in ("/", "/one", "/two")}
    assert [path for path in HARMFUL if site.asked.count(path) != 1] == []
    assert [path for path, found in said.items() if not found["record"]["error"]] == []
    assert "HTML" in said["/html.xml"]["why"]
    assert peak < 300, f"{peak:.0f} MB"
