"""Redirect targets under way: links to them wait, and none is lost."""

from hypothesis import given
from hypothesis import strategies as st

from skitter.crawl.hops import Reservations
from skitter.frontier.model import Link
from skitter.types import Fingerprint, HostKey, JobNumber


def link(fp: int, url: str = "") -> Link:
    at = url or f"http://site.test/{fp}"
    return Link(at, Fingerprint(fp), HostKey("site.test"), JobNumber(1))


def test_a_target_has_one_visit_at_a_time() -> None:
    held = Reservations()
    assert held.reserve(Fingerprint(1))
    assert not held.reserve(Fingerprint(1))
    assert held.reserve(Fingerprint(2))
    held.release(Fingerprint(1))
    assert held.reserve(Fingerprint(1))


def test_without_reservations_all_links_pass_in_order() -> None:
    links = [link(2), link(1), link(3)]
    assert Reservations().pass_on(links) == links


def test_links_to_a_target_under_way_are_held_and_given_back_once() -> None:
    held = Reservations()
    held.reserve(Fingerprint(2))
    assert held.pass_on([link(1), link(2), link(3)]) == [link(1), link(3)]
    assert held.pass_on([link(2, "http://site.test/again"), link(4)]) == [link(4)]
    assert held.release(Fingerprint(2)) == [link(2)]
    assert held.release(Fingerprint(2)) == []
    assert held.pass_on([link(2)]) == [link(2)]


def test_releasing_what_nobody_reserved_gives_nothing() -> None:
    assert Reservations().release(Fingerprint(9)) == []


FPS = st.integers(min_value=1, max_value=4)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("reserve"), FPS),
        st.tuples(st.just("release"), FPS),
        st.tuples(st.just("pass"), st.lists(FPS, max_size=4)),
    ),
    max_size=20,
)


@given(STEPS)
def test_every_url_that_comes_in_goes_out_or_is_held(
    steps: list[tuple[str, int | list[int]]],
) -> None:
    held, reserved = Reservations(), set[int]()
    waits, out, came = set[int](), set[int](), set[int]()
    for verb, what in steps:
        if isinstance(what, list):
            came |= set(what)
            passed = {found.fp for found in held.pass_on([link(fp) for fp in what])}
            assert passed == set(what) - reserved
            waits |= set(what) & reserved
            out |= passed
        elif verb == "reserve":
            assert held.reserve(Fingerprint(what)) == (what not in reserved)
            reserved.add(what)
        else:
            given_back = {found.fp for found in held.release(Fingerprint(what))}
            assert given_back == waits & {what}
            reserved.discard(what)
            waits.discard(what)
            out |= given_back
    assert out | waits == came
