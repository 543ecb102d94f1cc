"""The leases of this process, and when they end."""

import pytest

from skitter.frontier.embedded.agenda import Host, Queue
from skitter.frontier.embedded.layout import Record, entry_key
from skitter.frontier.embedded.leases import LeaseBook, same_lease
from skitter.frontier.model import Counts, Lease, Link
from skitter.types import Fingerprint, HostKey, JobNumber, PageClass

HOST = HostKey("a.test")


@pytest.fixture
def queue() -> Queue:
    return Queue(1, Host(1, HOST, 1000, 1), JobNumber(1), (Counts(), Counts()))


def grant(book: LeaseBook, queue: Queue, fp: int, expires_at: float = 10.0) -> Lease:
    url = f"https://a.test/{fp}"
    link = Link(url, Fingerprint(fp), HOST, JobNumber(1), slot=3, depth=2, referrer="r")
    key = entry_key(queue.id, PageClass.DATA, 4, 0, fp)
    return book.grant(queue, key, Record.of(link, 77), expires_at)


def test_a_lease_says_everything_its_record_said(queue: Queue) -> None:
    lease = grant(LeaseBook(5), queue, 1, 12.5)
    assert (lease.url, lease.host, lease.slot, lease.depth) == ("https://a.test/1", HOST, 3, 2)
    assert (lease.fence, lease.expires_at, lease.found_s, lease.visit) == (5, 12.5, 77, 1)


def test_ids_of_two_openings_never_meet(queue: Queue) -> None:
    first = {grant(LeaseBook(1), queue, n).id for n in range(100)}
    second = {grant(LeaseBook(2), queue, n).id for n in range(100)}
    assert first.isdisjoint(second)


def test_a_lease_is_found_by_id_and_by_entry_until_it_ends(queue: Queue) -> None:
    book = LeaseBook(1)
    lease = grant(book, queue, 1)
    held = book.by_id[lease.id]
    assert book.by_key[held.key] is held
    book.end(held)
    assert (book.by_id, book.by_key) == ({}, {})
    assert not book.renew(lease.id, 99.0)


def test_only_leases_whose_time_is_over_expire_each_once(queue: Queue) -> None:
    book = LeaseBook(1)
    early, late = grant(book, queue, 1, 10.0), grant(book, queue, 2, 20.0)
    assert book.expired(9.999) == []
    assert [held.lease for held in book.expired(10.0)] == [early]
    book.end(book.by_id[early.id])
    assert book.expired(19.0) == []
    assert [held.lease for held in book.expired(99.0)] == [late]


def test_a_renewed_lease_expires_at_its_new_time_alone(queue: Queue) -> None:
    book = LeaseBook(1)
    lease = grant(book, queue, 1, 10.0)
    assert book.renew(lease.id, 30.0)
    assert book.renew(lease.id, 20.0)
    assert book.expired(19.9) == []
    assert [held.lease for held in book.expired(20.0)] == [lease]


def test_a_pinned_lease_outlives_its_time_until_it_is_let_go(queue: Queue) -> None:
    book = LeaseBook(1)
    pinned, other = grant(book, queue, 1, 10.0), grant(book, queue, 2, 10.0)
    with book.pinned([pinned.id]):
        assert [held.lease for held in book.expired(11.0)] == [other]
        book.end(book.by_id[other.id])
        assert book.expired(12.0) == []
    assert [held.lease for held in book.expired(12.0)] == [pinned]


def test_a_lease_that_is_pinned_may_end_or_be_prolonged(queue: Queue) -> None:
    book = LeaseBook(1)
    ended, longer = grant(book, queue, 1, 10.0), grant(book, queue, 2, 10.0)
    with book.pinned([ended.id, longer.id]):
        assert book.expired(11.0) == []
        book.end(book.by_id[ended.id])
        assert book.renew(longer.id, 30.0)
    assert book.expired(29.0) == []
    assert [held.lease for held in book.expired(30.0)] == [longer]


def test_the_next_expiry_is_never_later_than_the_first_lease_ends(queue: Queue) -> None:
    book = LeaseBook(1)
    assert book.next_expiry() is None
    first = grant(book, queue, 1, 10.0)
    grant(book, queue, 2, 20.0)
    assert book.next_expiry() == 10.0
    book.end(book.by_id[first.id])
    assert book.next_expiry() == 20.0


def test_an_ack_of_another_opening_or_another_url_is_not_the_same_lease(queue: Queue) -> None:
    book = LeaseBook(1)
    lease = grant(book, queue, 1)
    held = book.by_id[lease.id]
    other = grant(LeaseBook(2), queue, 1)
    assert same_lease(held, lease)
    assert not same_lease(held, other)
    assert not same_lease(held, grant(LeaseBook(1), queue, 2))
    assert not same_lease(None, lease)
