"""A crawl that goes by aliases: what is queued, ended, turned and brought back."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from crawl_rig import CrawlRig, Record, Web, make_job

from skitter.crawl.aliases import undo as module
from skitter.crawl.aliases.rows import AliasRow, LinksRow, encode, host_mark, links_mark
from skitter.crawl.aliases.standing import Standing
from skitter.crawl.aliases.undo import AliasDesk, list_aliases
from skitter.crawl.aliases.watch import AliasWatch
from skitter.crawl.commit import Committer
from skitter.crawl.explain import Explainer
from skitter.crawl.outputs import Outputs
from skitter.crawl.seeding import Seeder
from skitter.crawl.visit import Visitor
from skitter.errors import ConfigError, SinkError
from skitter.frontier.model import Receipt, UrlState
from skitter.testing.fake_fetcher import page
from skitter.types import HostKey

A, B = HostKey("a.test"), HostKey("b.test")
PAGES = 30
DELAY_S = 1.0


def put_site(web: Web, host: str) -> None:
    """Put a site there that is the same under every name."""
    paths = [f"/p{n}" for n in range(PAGES)]
    for path, links in {"/": paths, **{path: ["/"] for path in paths}}.items():
        anchors = "".join(f'<a href="{link}">{link}</a>' for link in links)
        url = f"http://{host}{path}"
        html = {"content-type": "text/html"}
        web[url] = page(url, f"<title>{path}</title>" + f"<p>{path}" * 40 + anchors, headers=html)


class AliasRig(CrawlRig):
    """A crawl that recognises aliases."""

    async def open(self, *args: Any, **kwargs: Any) -> None:
        await super().open(*args, **kwargs)
        await self.open_watch()
        self.desk = AliasDesk(
            job=self.job.id,
            number=self.number,
            reader=self.frontier,
            frontier=self.frontier,
            control=self.frontier,
            normaliser=self.normaliser,
            judge=self.judge,
            finder=self.finder,
            clock=self.clock,
            heard=lambda row: self.watch.take([row]),
            heard_s=0.0,
        )

    async def open_watch(self) -> None:
        """Go by what is in the store, as a member does that begins."""
        entries = [self.normal(entry).host for entry in self.job.entries]
        sitemaps = self.equipment.sitemaps
        self.watch = AliasWatch(
            self.number,
            reader=self.frontier,
            normaliser=self.normaliser,
            clock=self.clock,
            seniority=Standing(entries, sitemaps.starts, self.equipment.home),
        )
        await self.watch.open()
        self.finder.aliases = self.watch.book
        self.equipment = replace(self.equipment, aliases=self.watch)
        self.visitor = Visitor(self.equipment, self.freed.append)
        self.committer = Committer(self.equipment, Outputs(self.equipment))
        self.seeder = Seeder(self.equipment)

    async def merge(self, alias: HostKey, kept: HostKey) -> None:
        """Let an alias be known."""
        row = AliasRow(
            alias=alias,
            kept=kept,
            origin=f"http://{kept}",
            since_ms=self.clock.now_ms(),
            equal=6,
            common=7,
            different=0,
        )
        await self.frontier.ack([], news={host_mark(self.number, alias): encode(row)})
        await self.watch.take_up_news()

    def requests(self, host: str) -> list[str]:
        asked = (request.url for request in self.fetcher.requests)
        return [url for url in asked if url.startswith(f"http://{host}/") and "robots" not in url]

    def left_out(self) -> list[Record]:
        return [record for record in self.sink.records if record["error"]]


@pytest.fixture
def web() -> Web:
    made = Web()
    for host in (A, B):
        put_site(made, host)
    return made


@pytest.fixture
async def rig(tmp_path: Path, web: Web) -> AsyncIterator[AliasRig]:
    entries = [f"http://{host}/" for host in (A, B)]
    polite = {"delay": DELAY_S, "robots": False}
    made = AliasRig(tmp_path, web, make_job(entries=entries, polite=polite))
    await made.open()
    yield made
    await made.close()


async def test_the_mirror_is_left_at_once_whatever_its_delay(rig: AliasRig) -> None:
    begun = rig.clock.boot()
    await rig.crawl()
    assert rig.watch.book.kept_names() == {B: A}
    assert len(rig.requests(A)) == PAGES + 1
    assert len(rig.requests(B)) < 9
    left_out = rig.left_out()
    assert len(left_out) + len(rig.requests(B)) == PAGES + 1
    assert rig.clock.boot() - begun < (PAGES + 2) * DELAY_S, "nobody waits for what is not asked"
    for record in left_out:
        assert record["outcome"] == "duplicate"
        assert record["error"] == "alias of a.test (6 of 6 pages compared are equal)"
        assert record["duplicate_of"] == record["url"].replace("b.test", "a.test")
        assert record["status"] is None
    totals = await rig.totals()
    assert (totals.aliases, totals.errors) == (len(left_out), {})
    assert (await rig.frontier.counts(rig.number)).dead == 0


async def test_what_is_queued_under_an_alias_is_queued_under_the_kept_name(
    rig: AliasRig, web: Web
) -> None:
    await rig.merge(B, A)
    put_site(web, "a.test")
    await rig.offer_links(3, "http://b.test/p7?x=1")
    lease = await rig.lease()
    visit = await rig.visitor.visit(lease)
    [link] = visit.links
    assert (link.url, link.depth) == ("http://a.test/p7?x=1", 3)
    assert [freed.unasked for freed in rig.freed] == [True]
    assert not rig.requests(B)


async def test_links_and_sitemaps_lead_to_the_kept_host(rig: AliasRig, web: Web) -> None:
    await rig.merge(B, A)
    rig.equipment.widen([f"http://{host}/" for host in (A, B, "c.test")])
    web.html("http://c.test/", "", "http://b.test/p1", "http://b.test/p2#x", "http://a.test/p1")
    await rig.offer("http://c.test/")
    visit = await rig.visitor.visit(await rig.lease())
    found = sorted({link.url for link in visit.links})
    assert found == ["http://a.test/p1", "http://a.test/p2"]
    [links] = rig.watch.book.take_links()
    assert (links.alias, links.count) == (B, 2)
    kept = rig.finder.under_kept_name(rig.normal("http://b.test/p3"), 1, "http://c.test/map.xml")
    assert kept == rig.normal("http://a.test/p3")


async def test_undo_brings_everything_back_and_it_stays(rig: AliasRig) -> None:
    await rig.crawl()
    before = set(rig.requests(B))
    left_out = {record["url"] for record in rig.left_out()}
    told = await rig.desk.undo("B.test")
    assert told == {"alias": B, "kept": A, "job": "job", "queued": len(left_out)}
    assert rig.watch.book.names == {}
    records = await rig.crawl()
    assert sorted(rig.requests(B)) == sorted(before | left_out)
    assert rig.watch.book.names == {}
    again = {record["url"]: record for record in records if record["visit"] == 2}
    assert set(again) == left_out
    assert {record["outcome"] for record in again.values()} == {"ok"}
    assert (await rig.desk.undo("b.test"))["queued"] == 0
    [row] = await list_aliases(rig.frontier, rig.number)
    assert (row["in_force"], row["undone_ms"]) == (False, rig.clock.now_ms()) or row["undone_ms"]


async def test_a_decision_that_comes_late_does_not_take_back_an_undo(rig: AliasRig) -> None:
    decided = AliasRow(
        alias=B, kept=A, origin="http://a.test", since_ms=1, equal=6, common=6, different=0
    )
    late = {host_mark(rig.number, B): encode(decided)}
    await rig.frontier.ack([], news=late)
    await rig.watch.take_up_news()
    await rig.desk.undo("b.test")
    await rig.frontier.ack([], news=late)
    await rig.watch.take_up_news()
    await rig.open_watch()
    assert rig.watch.book.names == {}
    assert not rig.watch.book.may_merge(B, A)
    [row] = await list_aliases(rig.frontier, rig.number)
    assert (row["in_force"], row["undone_ms"]) == (False, rig.clock.now_ms())
    await rig.crawl()
    assert len(rig.requests(B)) == PAGES + 1


async def test_an_undo_of_an_earlier_release_is_read(rig: AliasRig) -> None:
    undone = AliasRow(
        alias=B,
        kept=A,
        origin="http://a.test",
        since_ms=1,
        equal=6,
        common=6,
        different=0,
        undone_ms=5,
    )
    await rig.frontier.ack([], news={host_mark(rig.number, B): encode(undone)})
    await rig.open_watch()
    assert not rig.watch.book.may_merge(B, A)
    [row] = await list_aliases(rig.frontier, rig.number)
    assert (row["in_force"], row["undone_ms"]) == (False, 5)


async def test_links_that_were_turned_come_back_if_they_belong_to_the_job(rig: AliasRig) -> None:
    await rig.merge(B, A)
    rig.judge.scope.add("http://b.test/")
    kept = LinksRow(
        alias=B, count=9, urls=[("http://b.test/p1", 1), ("http://b.test/x.zip", 1), ("no", 1)]
    )
    mark = links_mark(rig.number, B, "member")
    await rig.frontier.ack([], marks={mark: encode(kept)})
    [listed] = await list_aliases(rig.frontier, rig.number)
    assert listed["links"] == 9
    assert (await rig.desk.undo("b.test"))["queued"] == 1
    normal = rig.normal("http://b.test/p1")
    assert (await rig.frontier.look(rig.number, B, normal.fp)).state is UrlState.QUEUED


async def test_links_that_were_turned_a_moment_ago_come_back(rig: AliasRig) -> None:
    await rig.merge(B, A)
    rig.judge.scope.add("http://b.test/")
    for number in range(10):
        rig.watch.book.turn(f"http://b.test/p{number}", B, 1, HostKey("c.test"))
        await rig.frontier.ack([], marks=rig.watch.take_marks(rig.clock.boot()))
        rig.clock.advance(1)
    assert (await rig.desk.undo("b.test"))["queued"] == 10


async def test_an_undo_that_is_killed_loses_nothing(
    rig: AliasRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH", 10)
    await rig.crawl()
    left_out = {record["url"] for record in rig.left_out()}

    async def killed(links: object) -> Receipt:
        raise SinkError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(rig.frontier, "offer", killed)
        with pytest.raises(SinkError):
            await rig.desk.undo("b.test")
    assert (await rig.desk.undo("b.test"))["queued"] == len(left_out)


async def test_sitemaps_of_an_alias_are_left_out_and_come_back(rig: AliasRig) -> None:
    await rig.merge(B, A)
    normal = rig.normal("http://b.test/sitemap.xml")
    await rig.frontier.offer([rig.equipment.sitemaps.link(normal, 0, "http://b.test/robots.txt")])
    visit = await rig.visitor.visit(await rig.lease())
    await rig.commit(visit)
    [link] = visit.links
    assert link.url == "http://a.test/sitemap.xml"
    assert (await rig.totals()).sitemap_faults == 0
    assert (await rig.desk.undo("b.test"))["queued"] == 1
    listing = rig.normaliser.as_sitemap(normal)
    assert (await rig.frontier.look(rig.number, B, listing.fp)).state is UrlState.QUEUED


async def test_a_host_that_is_no_alias_is_named(rig: AliasRig) -> None:
    await rig.merge(B, A)
    with pytest.raises(ConfigError, match=r"c\.test: is no alias in job job; .* there: b\.test"):
        await rig.desk.undo("c.test")
    with pytest.raises(ConfigError, match=r"a\.test: is no alias"):
        await rig.desk.undo("a.test")


async def test_a_page_that_redirects_to_its_alias_is_fetched_there(rig: AliasRig, web: Web) -> None:
    """Whichever of the two comes first."""
    web.moved("http://a.test/p1", "http://b.test/p1")
    web.moved("http://a.test/p2", "http://b.test/p2")
    await rig.merge(B, A)
    rig.judge.scope.add("http://b.test/")
    await rig.offer_links(1, "http://a.test/p1", "http://b.test/p1")
    records = await rig.crawl("http://b.test/p2", "http://a.test/p2")
    fetched = [(r["url"], r["final_url"]) for r in records if r["outcome"] == "ok"]
    by_page = [final for _, final in fetched]
    assert by_page.count("http://b.test/p1") == by_page.count("http://b.test/p2") == 1
    assert rig.requests(B).count("http://b.test/p1") == 1


async def test_the_reason_is_told_of_every_url(rig: AliasRig) -> None:
    await rig.crawl()
    explainer = Explainer(
        job=rig.job,
        number=rig.number,
        reader=rig.frontier,
        judge=rig.judge,
        normaliser=rig.normaliser,
        manners=rig.manners,
        aliases=rig.watch.book,
    )
    words = "alias of a.test (6 of 6 pages compared are equal)"
    left_out = rig.left_out()[0]["url"]
    found = await explainer.explain(left_out)
    assert found["why"] == f"was not fetched: {words}; see {left_out.replace('b.', 'a.', 1)}"
    found = await explainer.explain("http://b.test/never")
    assert found["why"] == f"never queued: {words}; see http://a.test/never"
    found = await explainer.explain("http://a.test/never")
    assert "alias" not in str(found["why"])
