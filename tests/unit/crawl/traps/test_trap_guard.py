"""Whole crawls of small webs, the guard's only judge being what they fetch."""

from collections.abc import Callable

import pytest
from endless_sites import (
    DEEP_DIRECTORIES,
    FOUR,
    OTHER_FOUR,
    TRAPS,
    all_of,
    beside,
    calendar_in_path,
    counter,
    words,
)
from real_sites import REAL, SESSION_SITE
from trap_webs import ROOT, Answer, Crawl, Web, make_guard

from skitter.crawl.traps.guard import MAX_CUTS, TrapGuard, TrapLimits
from skitter.crawl.traps.memory import HOST_FAMILIES
from skitter.parse.simhash import sketch_of

SHARE = 0.05


@pytest.mark.parametrize("name", TRAPS)
def test_a_crawl_leaves_a_trap_by_itself_with_every_real_page(name: str) -> None:
    crawl = Crawl(TRAPS[name]).run()
    assert not crawl.missed
    assert len(crawl.trapped) <= SHARE * len(crawl.fetched), crawl.trapped
    assert crawl.guard.cut


@pytest.mark.parametrize("traps", [FOUR, OTHER_FOUR], ids=["four", "other four"])
@pytest.mark.parametrize(
    ("flight", "late", "depth_first"),
    [(1, True, False), (4, True, False), (4, False, False), (1, True, True)],
    ids=["one at a time", "four at a time", "doubtful links in turn", "depth first"],
)
def test_four_traps_at_once_take_a_twentieth_of_the_pages_at_most(
    traps: dict[str, Callable[[str], Answer | None]], flight: int, late: bool, depth_first: bool
) -> None:
    crawl = Crawl(all_of(traps), flight=flight, late=late, depth_first=depth_first).run()
    assert not crawl.missed
    assert len(crawl.trapped) <= SHARE * len(crawl.fetched), crawl.trapped


@pytest.mark.parametrize("name", REAL)
def test_every_page_of_a_real_site_is_fetched(name: str) -> None:
    crawl = Crawl(REAL[name]).run()
    assert not crawl.missed


def test_a_site_that_lives_in_sessions_is_fetched_once() -> None:
    crawl = Crawl(SESSION_SITE).run()
    assert {path.rpartition("/")[2] for path in crawl.fetched} >= SESSION_SITE.real
    assert len(crawl.fetched) <= len(SESSION_SITE.real) * 1.05


def test_directories_that_only_hold_directories_come_to_an_end() -> None:
    crawl = Crawl(DEEP_DIRECTORIES).run()
    assert not crawl.missed
    assert len(crawl.fetched) < crawl.limit


def test_a_host_that_is_nothing_but_a_trap_comes_to_an_end() -> None:
    web = Web(counter, set(), "/more?n=1")
    crawl = Crawl(web).run()
    assert len(crawl.fetched) < 500


def test_without_the_guard_the_trap_has_no_end() -> None:
    guard = make_guard(TrapLimits(enabled=False))
    crawl = Crawl(TRAPS["counter"], guard=guard, limit=1_000).run()
    assert len(crawl.fetched) > 1_000
    assert not guard.cut
    assert not guard.take_changes()


def test_what_was_cut_is_counted_by_template_with_a_reason_and_an_example() -> None:
    crawl = Crawl(beside(calendar_in_path, "/calendar/2026/05/")).run()
    [(template, cut)] = crawl.guard.cut.items()
    assert template == f"{ROOT}/calendar/{{n}}/{{n}}/"
    assert cut.count >= 1
    assert "calendar without end" in cut.why
    assert cut.example.startswith(f"{ROOT}/calendar/")


def test_a_cut_url_is_explained_and_a_real_one_is_not() -> None:
    guard = Crawl(beside(calendar_in_path, "/calendar/2026/05/")).run().guard
    why = guard.explain(f"{ROOT}/calendar/2031/01/")
    assert why is not None
    assert "calendar" in why
    assert guard.explain(f"{ROOT}/articles/17") is None
    assert guard.explain("https://elsewhere.test/") is None
    assert guard.explain(f"{ROOT}/a/b/a/b/a/b/") == (
        "it looks like part of a trap: the path goes in circles"
    )


def test_links_from_elsewhere_into_a_strain_that_is_cut_are_followed() -> None:
    guard = Crawl(beside(calendar_in_path, "/calendar/2026/05/")).run().guard
    month = f"{ROOT}/calendar/2026/11/"
    assert guard.link(month, found_on=f"{ROOT}/calendar/2026/10/", depth=9) is not None
    assert guard.link(month, found_on=f"{ROOT}/articles/17", depth=3) is None


def test_what_was_queued_before_the_cut_is_stopped_before_it_is_fetched() -> None:
    guard = Crawl(beside(calendar_in_path, "/calendar/2026/05/")).run().guard
    month, before = f"{ROOT}/calendar/2027/01/", f"{ROOT}/calendar/2026/12/"
    assert guard.before(month, 9, found_on=before) is not None
    assert guard.before(month, 9, found_on=f"{ROOT}/about") is None
    assert guard.before(month, 0) is None, "an entry is fetched whatever it is"


def test_a_restart_knows_what_was_cut() -> None:
    web = beside(calendar_in_path, "/calendar/2026/05/")
    first = Crawl(web).run()
    guard = make_guard()
    guard.restore(first.guard.take_changes())
    assert guard.cut.keys() == first.guard.cut.keys()
    crawl = Crawl(web, guard=guard).run()
    assert not crawl.missed
    assert crawl.trapped == ["/calendar/2026/05/"]


@pytest.mark.parametrize("name", ["session in the path", "facets", "soft 404", "session number"])
def test_a_crawl_restarted_over_and_over_does_not_walk_into_the_trap_again(name: str) -> None:
    stored: dict[str, bytes] = {}
    trapped: set[str] = set()
    for _ in range(8):
        guard = make_guard()
        guard.restore(stored)
        crawl = Crawl(TRAPS[name], guard=guard).run()
        stored |= guard.take_changes()
        assert not crawl.missed
        trapped |= set(crawl.trapped)
    assert len(trapped) <= 2 * SHARE * len(crawl.fetched)


def test_rows_that_cannot_be_read_are_left_out() -> None:
    guard = make_guard()
    guard.restore({"cdeadbeef": b"\xff", "t1": b"\x91\xa6cut-99"})
    assert not guard.cut


def test_changes_are_taken_once() -> None:
    guard = Crawl(TRAPS["counter"]).run().guard
    assert guard.take_changes()
    assert not guard.take_changes()


def hostile(path: str) -> Answer | None:
    """Every page makes up ten directories nobody has heard of, and a paragraph."""
    names = [words((path, n), 2).replace(" ", "") for n in range(10)]
    return words(path, 40), [f"/{name}/{name}x/" for name in names]


def test_endless_templates_do_not_fill_the_memory() -> None:
    crawl = Crawl(Web(hostile, set()), limit=1_200).run()
    host = crawl.guard._atlas.host(ROOT)
    assert len(host.families) <= HOST_FAMILIES
    assert len(crawl.guard.cut) <= MAX_CUTS + 1


def test_the_list_of_what_was_cut_is_bounded() -> None:
    guard = make_guard()
    for n in range(MAX_CUTS + 50):
        name = words(n, 2).replace(" ", "")
        guard.link(f"{ROOT}/{name}/a/a/a/", found_on=f"{ROOT}/", depth=1)
    assert len(guard.cut) == MAX_CUTS + 1
    assert sum(cut.count for cut in guard.cut.values()) == MAX_CUTS + 50
    assert len(guard.take_changes()) == MAX_CUTS + 1


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/a/b/a/b/a/b/c", "the path goes in circles"),
        ("/x/x/x/", "the path goes in circles"),
        ("/1/2/1/2/1/2", None),
        ("/t/1/t/2/t/3/t/4/", "one name comes more than 3 times in the path"),
        ("/2012/12/12/", None),
        ("/en/shop/en/", None),
        (f"/{'x/' * 2}{'/'.join(map(str, range(30)))}", "more than 24 directories deep"),
        (f"/{'x' * 1001}", "a path of more than 1000 characters"),
        (f"/?q={'x' * 1501}", "a query of more than 1500 characters"),
        ("/?" + "&".join(f"n{n}=1" for n in range(25)), "more than 24 parameters"),
    ],
)
def test_some_urls_are_cut_by_their_looks(path: str, why: str | None) -> None:
    assert make_guard().link(ROOT + path, found_on=f"{ROOT}/", depth=1) == why


def test_pages_with_a_query_have_a_depth_of_their_own() -> None:
    guard = make_guard(TrapLimits(static_depth=5, dynamic_depth=2))
    found_on = f"{ROOT}/"
    assert guard.link(f"{ROOT}/a", found_on=found_on, depth=5) is None
    assert guard.link(f"{ROOT}/b", found_on=found_on, depth=6) is not None
    assert guard.link(f"{ROOT}/a?x=1", found_on=found_on, depth=2) is None
    assert guard.link(f"{ROOT}/b?x=1", found_on=found_on, depth=3) is not None


def test_the_first_order_of_parameters_stays_good() -> None:
    guard = make_guard()
    here = f"{ROOT}/list"
    assert guard.link(f"{here}?b=1&a=2", found_on=here, depth=1) is None
    assert guard.link(f"{here}?a=2&b=1", found_on=here, depth=1) is not None
    assert guard.link(f"{here}?a=2&b=1", found_on=here, depth=1) is not None
    assert guard.link(f"{here}?b=1&a=2", found_on=here, depth=1) is None
    assert guard.cut[f"{here}?a&b"].count == 1


def test_healthy_templates_are_read_ever_more_rarely() -> None:
    guard = make_guard()
    home = f"{ROOT}/"
    read = 0
    for n in range(1_000):
        url = f"{ROOT}/articles/{n}"
        guard.link(url, found_on=home, depth=1)
        wanted = guard.wants_content(url, 1, found_on=home)
        read += wanted
        sketch = sketch_of([words(n, 60)], url) if wanted else None
        guard.page(url, depth=1, found_on=home, sketch=sketch)
    assert read <= 12


def test_a_doubtful_link_is_one_that_looks_like_a_trap() -> None:
    guard: TrapGuard = make_guard()
    guard.link(f"{ROOT}/about", found_on=f"{ROOT}/", depth=1)
    assert not guard.doubtful
    guard.link(f"{ROOT}/s/3f9a8c7b11223344/about", found_on=f"{ROOT}/", depth=1)
    assert guard.doubtful
    guard.link(f"{ROOT}/cal/2026/06/", found_on=f"{ROOT}/cal/2026/05/", depth=2)
    assert guard.doubtful
    guard.link(f"{ROOT}/list?page=2", found_on=f"{ROOT}/list", depth=2)
    assert not guard.doubtful
