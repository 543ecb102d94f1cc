"""How the values of the seam are written in messages."""

import time
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.frontier.model import Ack, Claim, Freed, Grant, Hop, Lease, Link, Result
from skitter.frontier.remote.forms import Form, form_of, leases_form, links_form
from skitter.types import Fingerprint, HostKey, JobNumber, PageClass, Role

THERE = 1_000.0
"""Boot time of the process that writes."""
HERE = 77_000.0
"""Boot time of the process that reads."""
HOST = HostKey("www.example.com")

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
fps = st.integers(0, 2**64 - 1).map(Fingerprint)
hosts = words.map(HostKey)
small = st.integers(0, 9)
wide = st.integers(-(2**63), 2**64 - 1)
deadlines = st.integers(-200_000, 200_000).map(lambda ms: THERE + ms / 1000)

links = st.builds(
    Link,
    url=words,
    fp=fps,
    host=hosts,
    job=small.map(JobNumber),
    slot=small,
    page_class=st.sampled_from(PageClass),
    priority=small,
    depth=small,
    rank=small,
    referrer=words,
    not_before_ms=st.integers(0, 2**50),
    visit=small,
    role=st.sampled_from(Role),
    data=st.binary(max_size=9),
)
leases = st.builds(
    Lease,
    id=wide,
    url=words,
    fp=fps,
    host=hosts,
    job=small.map(JobNumber),
    slot=small,
    fence=small,
    page_class=st.sampled_from(PageClass),
    priority=small,
    depth=small,
    attempts=small,
    lost=small,
    visit=small,
    referrer=words,
    found_s=small,
    expires_at=deadlines,
    role=st.sampled_from(Role),
    rank=small,
    data=st.binary(max_size=9),
)
acks = st.builds(
    Ack,
    lease=leases,
    result=st.sampled_from(Result),
    at_ms=st.none() | wide,
    reason=words,
    links=st.lists(links, max_size=5),
    hops=st.lists(st.builds(Hop, fp=fps, host=hosts), max_size=3),
    note=st.binary(max_size=9),
    digest=st.binary(max_size=9),
    listed=st.booleans(),
    tally=st.lists(st.tuples(words, wide), max_size=3).map(tuple),
)
freed = st.builds(Freed, lease_id=wide, host=hosts, delay_ms=st.none() | small, not_before_ms=small)


def through(form: Form, value: Any) -> Any:
    """Return what the other process reads of what this one wrote."""
    message = msgspec.msgpack.encode(form.pack(value, THERE))
    return form.unpack(msgspec.msgpack.decode(message, type=form.wire), HERE)


def moved(lease: Lease) -> Lease:
    """Return a lease as the other process sees it: the same time left, on its own clock."""
    left_ms = round((lease.expires_at - THERE) * 1000)
    return msgspec.structs.replace(lease, expires_at=HERE + left_ms / 1000)


def bare(lease: Lease) -> Lease:
    """Return a lease as it goes back to its store, which has the data."""
    return msgspec.structs.replace(moved(lease), data=b"")


@given(st.lists(links, max_size=8))
def test_links_arrive_as_they_were(given: list[Link]) -> None:
    assert through(form_of(Sequence[Link]), given) == given


@given(st.lists(leases, max_size=8))
def test_leases_go_back_with_the_time_they_have_left_and_no_data(given: list[Lease]) -> None:
    assert through(form_of(Sequence[Lease]), given) == [bare(lease) for lease in given]


@given(leases)
def test_a_lease_alone_arrives_alike(given: Lease) -> None:
    assert through(form_of(Lease), given) == bare(given)


@given(st.lists(acks, max_size=4))
def test_acks_arrive_with_everything_but_the_data_of_their_leases(given: list[Ack]) -> None:
    wanted = [msgspec.structs.replace(ack, lease=bare(ack.lease)) for ack in given]
    assert through(form_of(Sequence[Ack]), given) == wanted


@given(st.lists(freed, max_size=5))
def test_freed_hosts_arrive_as_they_were(given: list[Freed]) -> None:
    assert through(form_of(Sequence[Freed]), given) == given


@given(st.lists(leases, max_size=4).map(tuple), st.none() | wide, wide)
def test_a_claim_arrives_whole(held: tuple[Lease, ...], ready_ms: int | None, version: int) -> None:
    claim = through(form_of(Claim), Claim(held, ready_ms, version))
    assert claim == Claim(tuple(moved(lease) for lease in held), ready_ms, version)


def test_enums_arrive_as_themselves() -> None:
    [arrived] = through(links_form, [make_link(1, page_class=PageClass.NAV, role=Role.SITEMAP)])
    assert arrived.page_class is PageClass.NAV
    assert arrived.role is Role.SITEMAP


@pytest.mark.parametrize("hint", [Sequence[Grant], list[Grant]])
def test_every_slot_of_a_store_takes_a_few_bytes_each(hint: Any) -> None:
    form = form_of(hint)
    grants = [Grant(slot, 7, THERE + 5) for slot in range(16_384)]
    assert len(msgspec.msgpack.encode(form.pack(grants, THERE))) < 4 * len(grants)
    assert through(form, grants) == [Grant(slot, 7, HERE + 5) for slot in range(16_384)]


def test_what_the_links_of_a_page_share_is_said_once() -> None:
    page = [make_link(n, referrer="https://www.example.com/" + "r" * 500) for n in range(60)]
    size = len(msgspec.msgpack.encode(links_form.pack(page, THERE)))
    own = sum(len(link.url) + 9 for link in page)
    assert size < own + 60 * 2 + 600


@pytest.mark.parametrize("place", [1, 5])
def test_columns_of_different_lengths_are_refused(place: int) -> None:
    columns = list(links_form.pack([make_link(1), make_link(2)], THERE) or ())
    columns[place] = [columns[place]] * 3
    with pytest.raises(msgspec.ValidationError, match="ragged"):
        links_form.unpack(tuple(columns), HERE)


def test_a_row_count_cannot_be_claimed_without_sending_the_rows() -> None:
    columns = list(links_form.pack([make_link(1)], THERE) or ())
    columns[0] = columns[0][0]
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode(columns), type=links_form.wire)


def test_one_lease_means_one() -> None:
    both = leases_form.pack([make_lease(1), make_lease(2)], THERE)
    for packed in (both, None):
        with pytest.raises(msgspec.ValidationError, match="where one was wanted"):
            form_of(Lease).unpack(packed, HERE)


def test_an_ack_without_a_lease_is_refused() -> None:
    form = form_of(Sequence[Ack])
    _, endings = form.pack([Ack(make_lease(1), Result.DONE)], THERE)
    with pytest.raises(msgspec.ValidationError, match="1 acks of 0 leases"):
        form.unpack((None, endings), HERE)


def test_a_page_with_sixty_links_costs_both_sides_less_than_a_third_of_a_millisecond() -> None:
    form = form_of(Sequence[Ack])
    batch = [
        Ack(make_lease(p), Result.DONE, links=[make_link(p * 100 + n) for n in range(60)])
        for p in range(32)
    ]
    took = []
    for _ in range(20):
        started = time.thread_time()
        assert len(through(form, batch)) == 32
        took.append(time.thread_time() - started)
    assert min(took) / len(batch) < 0.3e-3


def make_link(n: int, **fields: Any) -> Link:
    url = f"https://{HOST}/some/path/{n}"
    return Link(url, Fingerprint(2**64 - 1 - n), HOST, JobNumber(1), **fields)


def make_lease(n: int) -> Lease:
    return Lease(
        id=n,
        url=f"https://{HOST}/{n}",
        fp=Fingerprint(n),
        host=HOST,
        job=JobNumber(1),
        slot=0,
        fence=1,
        page_class=PageClass.DATA,
        priority=5,
        depth=0,
        attempts=0,
        lost=0,
        visit=1,
        referrer="",
        found_s=0,
        expires_at=THERE + 60,
    )
