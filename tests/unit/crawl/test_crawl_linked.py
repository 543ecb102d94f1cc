"""Which pages and hosts are linked most."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from crawl_rig import HOME, SITE, CrawlRig, Web, make_job
from hypothesis import given
from hypothesis import strategies as st

from skitter.crawl import linked as module
from skitter.crawl.linked import (
    STORE_EVERY_S,
    Linked,
    LinkedTable,
    host_ranking,
    linked_mark,
    merged,
    read_table,
)
from skitter.types import Fingerprint, JobNumber

JOB = JobNumber(1)
FAR = "http://far.test"


def counted(*links: tuple[str, int], into: Linked | None = None) -> Linked:
    """Count links to pages given as site and fingerprint, each as a page of its own."""
    made = into or Linked()
    made.mark_name = linked_mark(JOB)
    for origin, fp in links:
        made.count([made.key(f"{origin}/x", Fingerprint(fp))])
    return made


def pages(table: LinkedTable) -> list[tuple[str, int, int]]:
    return [(page.origin, page.fp, page.links) for page in table.pages]


def test_pages_and_hosts_are_ranked_by_their_links() -> None:
    table = counted((SITE, 1), (FAR, 2), (SITE, 3), (SITE, 3)).table()
    assert pages(table)[0] == (SITE, 3, 2)
    assert host_ranking(table) == {SITE: 3, FAR: 1}
    assert table.pages[0].host == "site.test"


def test_a_target_without_a_page_of_its_own_counts_for_its_host_alone() -> None:
    made = Linked()
    made.count([made.key(f"{FAR}/film.mp4", None), None])
    assert pages(made.table()) == []
    assert made.table().hosts == {FAR: 1}


def test_what_is_stored_is_gone_on_from() -> None:
    first = counted((SITE, 1), (SITE, 1), (FAR, 2))
    stored = first.take_mark(0.0, force=True)[linked_mark(JOB)]
    again = Linked()
    again.restore(stored)
    assert again.table() == first.table()
    counted((SITE, 1), into=again)
    assert pages(again.table())[0] == (SITE, 1, 3)
    assert again.table().hosts == {SITE: 3, FAR: 1}


def test_nothing_stored_means_nothing_counted() -> None:
    made = Linked()
    made.restore(None)
    assert made.table() == read_table(None) == LinkedTable()
    assert made.take_mark(0.0, force=True) == {}


def test_the_table_is_stored_now_and_then() -> None:
    made = counted((SITE, 1))
    assert made.take_mark(100.0) == {}
    assert made.take_mark(100.0 + STORE_EVERY_S - 1) == {}
    assert list(made.take_mark(100.0 + STORE_EVERY_S)) == [linked_mark(JOB)]
    assert made.take_mark(101.0 + STORE_EVERY_S) == {}


def test_the_most_linked_stay_when_the_table_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_KEYS", 20)
    made = counted(*[(SITE, 1)] * 10, *[(FAR, 2)] * 5)
    for fp in range(100, 1100):
        counted((SITE, fp), into=made)
    table = made.table()
    assert pages(table)[:2] == [(SITE, 1, 10), (FAR, 2, 5)]
    assert len(table.pages) <= 20
    assert table.hosts == {SITE: 1010, FAR: 5}, "no link of a host is forgotten"


def test_no_more_is_stored_than_is_ever_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 3)
    made = Linked()
    for n in range(10):
        counted(*[(f"http://{n}.test", n + 1)] * (n + 1), into=made)
    table = made.table()
    assert [links for *_, links in pages(table)] == [10, 9, 8]
    assert len(table.hosts) == 3


def test_a_page_of_a_host_that_was_not_stored_counts_for_it_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "KEPT", 1)
    hosts = [(FAR, fp) for fp in range(10, 20)]
    stored = counted((SITE, 1), (SITE, 1), *hosts).take_mark(0.0, force=True)
    again = Linked()
    again.restore(stored[linked_mark(JOB)])
    monkeypatch.undo()
    assert again.table().hosts == {FAR: 10, SITE: 2}


def test_sites_beyond_a_bound_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ORIGINS", 2)
    made = counted((SITE, 1), (FAR, 2), ("http://third.test", 3), (SITE, 1))
    assert made.key("http://third.test/", None) is None
    assert made.table().hosts == {SITE: 2, FAR: 1}


@given(st.lists(st.tuples(st.sampled_from([SITE, FAR]), st.integers(1, 5)), max_size=40))
def test_counts_add_up_over_restarts(links: list[tuple[str, int]]) -> None:
    whole, half = counted(*links), counted(*links[: len(links) // 2])
    mark = half.take_mark(0.0, force=True).get(linked_mark(JOB))
    again = Linked()
    again.restore(mark)
    counted(*links[len(links) // 2 :], into=again)
    assert sorted(pages(again.table())) == sorted(pages(whole.table()))
    assert again.table().hosts == whole.table().hosts


# Several members


def test_tables_of_several_members_are_read_as_one() -> None:
    one = counted((SITE, 1), (SITE, 1), (FAR, 2)).table()
    two = counted((SITE, 1), (FAR, 2), (FAR, 2), (FAR, 3)).table()
    both = merged([one, two])
    assert sorted(pages(both)) == sorted([(SITE, 1, 3), (FAR, 2, 3), (FAR, 3, 1)])
    assert both.hosts == {SITE: 3, FAR: 4}
    assert [links for *_, links in pages(both)] == [3, 3, 1]
    assert list(both.hosts) == [FAR, SITE]


def test_the_same_fingerprint_on_two_sites_is_two_pages() -> None:
    both = merged([counted((SITE, 1)).table(), counted((FAR, 1)).table()])
    assert sorted(pages(both)) == sorted([(SITE, 1, 1), (FAR, 1, 1)])


def test_merging_keeps_no_more_than_is_ever_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = [counted(*[(f"http://{n}.test", n)] * n).table() for n in range(1, 8)]
    monkeypatch.setattr(module, "KEPT", 3)
    assert [links for *_, links in pages(merged(tables))] == [7, 6, 5]
    assert len(merged(tables).hosts) == 3


def test_nothing_merged_is_an_empty_table() -> None:
    assert merged([]) == LinkedTable()
    table = counted((SITE, 1)).table()
    assert merged([table, LinkedTable()]) == table


@given(st.lists(st.tuples(st.sampled_from([SITE, FAR]), st.integers(1, 5)), max_size=40))
def test_it_does_not_matter_which_member_counted_a_link(links: list[tuple[str, int]]) -> None:
    whole = counted(*links).table()
    parts = merged(counted(*links[at::3]).table() for at in range(3))
    assert sorted(pages(parts)) == sorted(pages(whole))
    assert parts.hosts == whole.hosts


def test_each_member_stores_a_table_of_its_own() -> None:
    names = {linked_mark(JOB), linked_mark(JOB, "a"), linked_mark(JOB, "b")}
    assert len(names) == 3
    assert all(name.startswith(linked_mark(JOB)) for name in names)
    assert not linked_mark(JobNumber(11), "a").startswith(linked_mark(JOB))


# In a crawl


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[CrawlRig]:
    web = Web()
    web.robots("")
    web.html(HOME, "", "/a", "/a", "/b", f"{FAR}/x", "mailto:x")
    web.html(f"{SITE}/a", "a", "/", "/b", "b")
    web.html(f"{SITE}/b", "b", f"{FAR}/y")
    made = CrawlRig(tmp_path, web, make_job())
    await made.open()
    yield made
    await made.close()


async def test_each_page_counts_once_for_an_href_and_out_of_scope_hosts_count_too(
    rig: CrawlRig,
) -> None:
    await rig.crawl()
    table = rig.finder.linked.table()
    links = {page.fp: page.links for page in table.pages}
    assert links[rig.normal(f"{SITE}/a").fp] == 1
    assert links[rig.normal(HOME).fp] == 1
    assert table.hosts[FAR] == 2


async def test_the_table_rides_with_the_acks(
    rig: CrawlRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STORE_EVERY_S", 0.0)
    await rig.crawl()
    stored = read_table(await rig.frontier.mark(linked_mark(rig.number)))
    assert stored == rig.finder.linked.table()
