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


def test_a_link_on_its_way_into_the_queue_is_no_target_until_it_has_arrived() -> None:
    held = Reservations()
    held.pass_on([link(1), link(2)])
    assert not held.reserve(Fingerprint(1))
    assert held.reserve(Fingerprint(3))
    held.arrived()
    assert held.reserve(Fingerprint(1))


def test_links_arrive_in_the_order_in_which_they_were_passed_on() -> None:
    held = Reservations()
    held.pass_on([link(1), link(2)])
    held.pass_on([])
    held.pass_on([link(2), link(3)])
    held.arrived(2)
    assert held.reserve(Fingerprint(1))
    assert not held.reserve(Fingerprint(2))
    held.arrived()
    assert held.reserve(Fingerprint(2))
    assert held.reserve(Fingerprint(3))


def test_a_link_that_is_held_back_is_not_on_its_way() -> None:
    held = Reservations()
    held.reserve(Fingerprint(1))
    held.pass_on([link(1)])
    held.release(Fingerprint(1))
    assert held.reserve(Fingerprint(1))


FPS = st.integers(min_value=1, max_value=4)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("reserve"), FPS),
        st.tuples(st.just("release"), FPS),
        st.tuples(st.just("pass"), st.lists(FPS, max_size=4)),
        st.tuples(st.just("arrived"), st.integers(0, 3)),
    ),
    max_size=20,
)


class Model:
    """The same in plain sets."""

    def __init__(self) -> None:
        self.reserved: set[int] = set()
        self.waits: set[int] = set()
        self.leaving: list[set[int]] = []

    def step(self, real: Reservations, verb: str, what: int | list[int]) -> set[int]:
        """Do one step on both; answers what came out of it."""
        if isinstance(what, list):
            passed = {found.fp for found in real.pass_on([link(fp) for fp in what])}
            assert passed == set(what) - self.reserved
            self.waits |= set(what) & self.reserved
            self.leaving.append(set(passed))
            return set(passed)
        if verb == "arrived":
            real.arrived(min(what, len(self.leaving)))
            del self.leaving[:what]
        elif verb == "reserve":
            free = what not in self.reserved.union(*self.leaving)
            assert real.reserve(Fingerprint(what)) == free
            self.reserved |= {what} if free else set()
        else:
            given_back = {found.fp for found in real.release(Fingerprint(what))}
            assert given_back == self.waits & {what}
            self.reserved.discard(what)
            self.waits.discard(what)
            return set(given_back)
        return set()


@given(STEPS)
def test_every_url_that_comes_in_goes_out_or_is_held(
    steps: list[tuple[str, int | list[int]]],
) -> None:
    real, model = Reservations(), Model()
    out, came = set[int](), set[int]()
    for verb, what in steps:
        came |= set(what) if isinstance(what, list) else set()
        out |= model.step(real, verb, what)
        assert out | model.waits == came
