"""Which name a host is crawled under."""

from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.crawl.aliases import book as module
from skitter.crawl.aliases.book import AliasBook
from skitter.crawl.aliases.rows import (
    AliasRow,
    LinksRow,
    PairRow,
    alias_rows,
    decode_alias,
    encode,
    host_mark,
    in_force,
    links_mark,
    links_rows,
    pair_mark,
    pair_rows,
)
from skitter.types import HostKey, JobNumber

A, B, C, D = (HostKey(f"{name}.test") for name in "abcd")


def row(alias: HostKey, kept: HostKey, since_ms: int = 1, undone_ms: int = 0) -> AliasRow:
    return AliasRow(
        alias=alias,
        kept=kept,
        origin=f"https://{kept}",
        since_ms=since_ms,
        equal=5,
        common=6,
        different=1,
        undone_ms=undone_ms,
    )


def kept(*rows: AliasRow) -> dict[HostKey, HostKey]:
    return {alias: row.kept for alias, row in in_force(rows).items()}


def test_chains_lead_to_their_end() -> None:
    assert kept(row(B, A), row(C, B), row(D, C)) == {B: A, C: A, D: A}
    assert in_force([row(B, A), row(C, B)])[C].origin == "https://a.test"


def test_of_contrary_decisions_the_first_counts() -> None:
    assert kept(row(A, B, 2), row(B, A, 1)) == {B: A}
    assert kept(row(A, B, 1), row(B, C, 2), row(C, A, 3)) == {A: C, B: C}


def test_what_was_undone_is_not_in_force() -> None:
    assert kept(row(B, A, undone_ms=9), row(C, B)) == {C: B}


hosts = st.sampled_from([A, B, C, D])
rows = st.lists(st.builds(row, hosts, hosts, st.integers(1, 3), st.sampled_from([0, 0, 5])))


@given(rows, st.randoms(use_true_random=False))
def test_every_member_comes_to_the_same_names(decided: list[AliasRow], random: Random) -> None:
    once = list({one.alias: one for one in decided if one.alias != one.kept}.values())
    found = in_force(once)
    random.shuffle(once)
    assert in_force(once) == found
    for alias, one in found.items():
        assert one.kept != alias
        assert one.kept not in found


def test_links_to_an_alias_lead_to_the_kept_host() -> None:
    book = AliasBook()
    assert book.kept_url("http://b.test/x?y=1", B) is None
    book.take([row(B, A)])
    assert book.kept_url("http://b.test/x?y=1", B) == "https://a.test/x?y=1"
    assert book.kept_host(B) == A
    assert book.kept_host(C) == C
    assert book.turn("http://b.test/x", B, 2, C) == "https://a.test/x"
    assert book.turn("http://b.test/x", B, 3, C) == "https://a.test/x"
    assert book.turn("http://c.test/x", C, 2, A) is None
    assert book.turn("http://b.test/x", B, 2, B) is None, "the alias's own links stay"
    assert book.take_links() == [LinksRow(alias=B, count=2, urls=[("http://b.test/x", 2)])]
    assert book.take_links() == []


def test_turned_links_are_counted_on_and_kept_within_bounds() -> None:
    book = AliasBook()
    book.take([row(B, A)])
    book.restore_links({B: LinksRow(alias=B, count=7, urls=[("http://b.test/old", 1)])})
    for n in range(2 * module.MOST_URLS):
        book.turn(f"http://b.test/{n}", B, 1, A)
    book.turn(f"http://b.test/{'x' * module.MAX_URL_CHARS}", B, 1, A)
    [links] = book.take_links()
    assert links.count == 7 + 2 * module.MOST_URLS + 1
    assert len(links.urls) == module.MOST_URLS
    assert links.urls[0] == ("http://b.test/old", 1)


def test_links_to_many_aliases_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_KEPT", 100)
    names = [HostKey(f"m{n:02}.test") for n in range(20)]
    urls = {name: [(f"http://{name}/{n}", 1) for n in range(30)] for name in names}
    book, restored = AliasBook(), AliasBook()
    book.take([row(name, A) for name in names])
    for name in names:
        for url, depth in urls[name] * 2:
            book.turn(url, name, depth, A)
    restored.restore_links({name: LinksRow(alias=name, count=9, urls=urls[name]) for name in names})
    for links in (book.take_links(), restored.links_of(names)):
        kept = [len(one.urls) for one in links]
        assert kept == [30, 30, 30, 10] + [module.FEWEST_URLS] * 16
    assert {one.count for one in book.links_of(names)} == {60}, "all are counted"


def test_what_an_operator_undid_stays_undone() -> None:
    book = AliasBook()
    book.take([row(B, A)])
    book.take([row(B, A, undone_ms=5)])
    assert book.names == {}
    book.take([row(B, A, since_ms=9)])
    assert book.names == {}
    assert not book.may_merge(B, A)
    assert not book.may_merge(B, C)
    assert not book.may_merge(A, B), "nor the other way round"
    assert book.may_merge(C, B)


def test_why_is_said_in_words() -> None:
    book = AliasBook()
    book.take([row(B, A)])
    assert book.explain("http://a.test/x", A) is None
    assert book.explain("http://b.test/x", B) == (
        "alias of a.test (5 of 6 pages compared are equal); see https://a.test/x"
    )


def test_rows_are_stored_and_read() -> None:
    job = JobNumber(3)
    pair = PairRow(one=A, other=B, origins=("http://a", "http://b"), equal=["/"], paths=([], []))
    links = LinksRow(alias=B, count=1, urls=[("http://b.test/x", 1)])
    assert decode_alias(encode(row(B, A))) == row(B, A)
    assert decode_alias(b"") is None
    assert alias_rows({"1": encode(row(B, A)), "2": b"broken"}) == [row(B, A)]
    assert pair_rows({"1": encode(pair), "2": b"{}"}) == [pair]
    assert links_rows({"1": encode(links), "2": b"[]"}) == [links]
    later = msgspec.json.encode({**msgspec.to_builtins(row(B, A)), "new": 1})
    assert decode_alias(later) == row(B, A), "a later version may say more"
    names = [host_mark(job, B), pair_mark(job, A, B), links_mark(job, B, "m")]
    assert all(name.startswith("aliases:3:") for name in names)
    assert len(set(names)) == 3
