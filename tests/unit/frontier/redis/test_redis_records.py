"""How a waiting URL looks in Redis: everything reads back, and what has no data costs nothing."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.frontier.model import MAX_DATA_BYTES, Link
from skitter.frontier.redis.records import (
    HEAD_BYTES,
    Given,
    fp_of,
    make_lease,
    pack_record,
    unpack_record,
)
from skitter.frontier.redis.wire import pack_host, pack_links
from skitter.types import Fingerprint, HostKey, JobNumber, PageClass, Role

HOST = HostKey("a.test")
JOB = JobNumber(1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
LINKS = st.builds(
    Link,
    url=TEXTS.map(lambda text: f"https://{HOST}/{text}") | TEXTS.map("http://b.test/".__add__),
    fp=st.integers(0, 2**64 - 1).map(Fingerprint),
    host=st.just(HOST),
    job=st.just(JOB),
    page_class=st.sampled_from(PageClass),
    priority=st.integers(0, 9),
    depth=st.integers(0, 0xFFFF),
    referrer=TEXTS.map(f"https://{HOST}/".__add__) | TEXTS.map("https://c.test/".__add__),
    visit=st.integers(1, 0xFFFF),
    role=st.sampled_from(Role),
    data=st.binary(max_size=40) | st.just(bytes(MAX_DATA_BYTES)),
)


def returned(stored: bytes, seq: int) -> bytes:
    """Return a record as a script writes it that gives a URL back."""
    return stored[:1] + bytes((stored[1] | 128,)) + stored[2:] + struct.pack(">Q", seq)


@given(LINKS)
def test_a_record_reads_back_as_it_was(link: Link) -> None:
    stored = pack_record(link, 7)
    assert unpack_record(stored).link(HOST, JOB, 0) == link
    assert fp_of(stored) == link.fp


@given(LINKS, st.integers(0, 2**64 - 1))
def test_a_url_that_was_given_back_has_its_data_before_its_place(link: Link, seq: int) -> None:
    assert unpack_record(returned(pack_record(link, 7), seq)).link(HOST, JOB, 0) == link


@given(LINKS)
def test_a_lease_has_what_the_record_says(link: Link) -> None:
    lease = make_lease(Given(5, HOST, JOB, 3, 0, 1), pack_record(link, 7), 9.0)
    assert (lease.url, lease.referrer, lease.data) == (link.url, link.referrer, link.data)


@given(LINKS)
def test_an_offer_holds_the_record_to_the_byte(link: Link) -> None:
    sent = pack_links(pack_host(HOST, 3, "test"), JOB, [link], True, 7)
    assert pack_record(link, 7) in sent


def test_a_record_without_data_is_what_it_was_before_there_was_any() -> None:
    link = Link("https://a.test/x", Fingerprint(7), HOST, JOB, referrer="https://a.test/")
    old = bytes.fromhex("01 01 05 00 00 0000 0001 00000009 0000000000000007 0002") + b"/x/"
    assert pack_record(link, 9) == old
    assert unpack_record(old).data == b""


def test_data_stands_at_the_end_with_its_length_and_another_version() -> None:
    link = Link("https://a.test/x", Fingerprint(7), HOST, JOB, data=b"abc")
    stored = pack_record(link, 9)
    assert stored[0] == 2
    assert stored[HEAD_BYTES:] == b"/xabc\x00\x03"


def test_a_record_of_another_version_is_refused_by_number() -> None:
    stored = pack_record(Link("https://a.test/", Fingerprint(7), HOST, JOB), 9)
    with pytest.raises(ValueError, match="version 9"):
        unpack_record(b"\x09" + stored[1:])


def test_a_record_of_a_role_that_is_not_known_is_refused() -> None:
    stored = bytearray(pack_record(Link("http://a.test/", Fingerprint(1), HOST, JOB), 7))
    stored[1] |= 0b1100
    with pytest.raises(ValueError, match="3 is not a valid Role"):
        unpack_record(bytes(stored))
