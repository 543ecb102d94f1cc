"""When two hosts are taken for one site, and which of them is kept."""

from collections.abc import Mapping
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from skitter.crawl.aliases.facts import Fact, Likeness
from skitter.crawl.aliases.verdict import (
    FEWEST,
    FEWEST_WITHOUT_HOME,
    Comparison,
    compare,
    elder,
    objection,
)
from skitter.types import HostKey


def fact(text: str, *, at: str = "2026", looks: int | None = None, size: int = 1000) -> Fact:
    digest = text.encode().ljust(16, b".")[:16]
    return Fact(digest, (text if looks is None else None, looks), size, "", at)


def site(pages: int, *, name: str = "", home: bool = True) -> dict[str, Fact]:
    """Return a site whose pages are like no others, unless the name is the same."""
    paths = (["/"] if home else []) + [f"/d/{n}" for n in range(pages)]
    return {path: fact(f"{name}{path}") for path in paths}


def verdict(kept: Mapping[str, Fact], alias: Mapping[str, Fact]) -> str | None:
    return objection(compare(kept, alias))


def test_a_mirror_is_one_site() -> None:
    assert verdict(site(20), site(5)) is None


def test_home_pages_alone_never_suffice() -> None:
    assert verdict(site(0), site(0)) == "1 pages are equal; wanted 6"
    assert verdict(site(4), site(4)) == "5 pages are equal; wanted 6"
    assert verdict(site(5), site(5)) is None


def test_sites_with_other_home_pages_are_two() -> None:
    manual = site(30)
    assert verdict(manual, {**manual, "/": fact("something else")}) == "their home pages differ"


def test_a_clock_on_the_home_page_speaks_neither_for_nor_against() -> None:
    one, other = (
        {**site(9), "/about": fact("about"), "/": fact(f"at {n}", looks=1)} for n in (1, 2)
    )
    assert compare(one, other).home is Likeness.NEAR
    assert verdict(one, other) is None
    del other["/about"]
    assert verdict(one, other) == "9 pages are equal; wanted 10"


def test_without_home_pages_more_is_needed_and_on_two_levels() -> None:
    few = site(FEWEST_WITHOUT_HOME - 1, home=False)
    assert verdict(few, few) == "9 pages are equal; wanted 10"
    flat = site(FEWEST_WITHOUT_HOME, home=False)
    assert verdict(flat, flat) == "all equal pages are at one level"
    deep = {**flat, "/d/e/f": fact("deep")}
    assert verdict(deep, deep) is None


def test_a_legal_notice_in_common_is_not_enough() -> None:
    shared = {path: fact(path) for path in ("/licence", "/privacy", "/terms", "/imprint", "/404")}
    one, other = {**site(8, name="a"), **shared}, {**site(8, name="b"), **shared}
    assert verdict(one, other) == "their home pages differ"
    del other["/"]
    assert verdict(one, other) == "5 pages are equal; wanted 10"
    assert verdict(shared, shared) == "5 pages are equal; wanted 10"


def test_the_same_page_everywhere_counts_once() -> None:
    parked = {f"/{n}": fact("this domain is for sale") for n in range(40)} | {"/": fact("home")}
    assert verdict(parked, parked) == "2 pages are equal; wanted 6"


def test_tiny_pages_do_not_count() -> None:
    tiny = {f"/{n}": fact(f"{n}", size=20) for n in range(40)} | {"/": fact("home")}
    assert verdict(tiny, tiny) == "1 pages are equal; wanted 6"


def test_one_page_in_ten_may_differ() -> None:
    one = site(18)
    two_differ = {**one, "/d/0": fact("x"), "/d/1": fact("y")}
    assert verdict(one, two_differ) == "2 pages differ"
    assert verdict(site(19), {**site(19), "/d/0": fact("x")}) is None
    assert verdict(site(8), {**site(8), "/d/0": fact("x")}) == "1 pages differ"


def test_a_template_with_other_words_is_another_site() -> None:
    """A few equal pages, and some that differ by no more than a clock would."""
    shared = {"/": fact("/")} | {f"/legal/{n}": fact(f"legal {n}") for n in range(7)}
    one, other = (
        {**shared, **{f"/p/{n}": fact(f"{name} {n}", looks=n) for n in range(3)}}
        for name in ("a", "b")
    )
    assert verdict(one, other) == "3 pages differ a little"


def test_pages_that_the_other_lacks_speak_against_it() -> None:
    manual = {"/": fact("/")} | {f"/manual/{n}": fact(f"m {n}") for n in range(8)}
    own = {**manual, **{f"/own/{n}": fact(f"own {n}") for n in range(6)}}
    assert verdict(manual, own) == "6 of its pages were not found on the other"
    assert verdict(own, manual) is None
    gone = {**manual, **{f"/own/{n}": Fact(b"") for n in range(6)}}
    assert verdict(gone, own) == "6 pages differ"


def test_a_page_that_neither_has_says_nothing() -> None:
    broken = {**site(5), "/missing": Fact(b"")}
    assert verdict(broken, broken) is None
    assert compare(broken, broken).common == 6


paths = st.sampled_from(["/", *(f"/{n}" for n in range(6)), *(f"/d/{n}" for n in range(10))])
contents = st.integers(0, 40)
pages = st.dictionaries(paths, contents, max_size=16)


def facts(found: Mapping[str, int]) -> dict[str, Fact]:
    return {path: fact(f"{content} of {path}") for path, content in found.items()}


@given(pages, pages)
def test_hosts_that_differ_in_most_pages_are_never_one(
    one: dict[str, int], other: dict[str, int]
) -> None:
    common = set(one) & set(other)
    differ = [path for path in common if one[path] != other[path]]
    if verdict(facts(one), facts(other)) is None:
        assert len(differ) * 4 < len(common)
        assert len(common) - len(differ) >= FEWEST


@given(pages, pages, st.randoms(use_true_random=False))
def test_the_order_of_pages_does_not_matter(
    one: dict[str, int], other: dict[str, int], random: Random
) -> None:
    shuffled = list(facts(one).items()), list(facts(other).items())
    for items in shuffled:
        random.shuffle(items)
    found = compare(facts(one), facts(other))
    assert compare(dict(shuffled[0]), dict(shuffled[1])) == found
    assert compare(facts(other), facts(one)).common == found.common


@given(pages)
def test_a_copy_has_nothing_that_differs(one: dict[str, int]) -> None:
    found = compare(facts(one), facts(one))
    assert (found.different, found.near) == (0, 0)
    assert found.shared == found.pages == len(one)


def test_what_the_job_names_is_kept() -> None:
    late, early = (
        {"/": fact("/", at=at)} for at in ("2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z")
    )
    entry, copy = HostKey("entry.test"), HostKey("a.test")
    known = {entry: 0, copy: 3}.__getitem__
    assert elder((entry, late), (copy, early), known) == (entry, copy)
    assert elder((copy, early), (entry, late), known) == (entry, copy)


def test_else_what_was_known_first_then_the_shorter_name() -> None:
    late, early = (
        {"/": fact("/", at=at)} for at in ("2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z")
    )
    old, copy = HostKey("www.victim.test"), HostKey("evil.test")
    assert elder((copy, late), (old, early), lambda _: 0) == (old, copy)
    assert elder((old, late), (copy, late), lambda _: 0) == (copy, old)
    assert elder((old, {}), (copy, {}), lambda _: 0) == (copy, old)


def test_objections_name_what_was_wanted() -> None:
    fine = Comparison(("/", "/a", "/b", "/c", "/d", "/e"), 0, 0, 6, 6, Likeness.EQUAL)
    assert objection(fine) is None
    assert objection(fine._replace(shared=4)) == "2 of its pages were not found on the other"
    assert objection(fine._replace(different=1)) == "1 pages differ"
    assert objection(fine._replace(near=2)) == "2 pages differ a little"
