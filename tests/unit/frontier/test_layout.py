"""How records and keys look on disk: everything reads back, and byte order is queue order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.frontier.embedded import layout
from skitter.frontier.embedded.layout import (
    HostRow,
    QueueRow,
    Record,
    due_key,
    due_parts,
    entry_key,
    line_prefix,
    pack_row,
    queue_prefix,
    rank_of,
    seen_key,
    unpack_host,
    unpack_queue,
    unpack_record,
)
from skitter.frontier.model import MAX_DATA_BYTES, Link
from skitter.types import Fingerprint, HostKey, JobNumber, PageClass, Role
from skitter.url.host import host_key
from skitter.url.parse import parse_http

U8, U16 = st.integers(0, 0xFF), st.integers(0, 0xFFFF)
U32, U64 = st.integers(0, 0xFFFF_FFFF), st.integers(0, 2**64 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=50)
RECORDS = st.builds(
    Record,
    path=TEXTS,
    https=st.booleans(),
    page_class=st.sampled_from(PageClass),
    priority=st.integers(0, 9),
    attempts=U8,
    lost=U8,
    depth=U16,
    slot=st.integers(0, 16_383),
    visit=U32,
    found_s=U32,
    fp=U64.map(Fingerprint),
    referrer=TEXTS,
    role=st.sampled_from(Role),
    data=st.binary(max_size=40) | st.just(bytes(MAX_DATA_BYTES)),
)


@given(RECORDS)
def test_a_record_reads_back_as_it_was(record: Record) -> None:
    assert unpack_record(record.pack()) == record


def test_a_record_without_data_is_what_it_was_before_there_was_any() -> None:
    link = Link("https://a.test/x", Fingerprint(7), HostKey("a.test"), JobNumber(1), 3)
    old = bytes.fromhex("01 01 05 00 00 0000 0003 00000001 00000009 0000000000000007 0002") + b"/x"
    assert Record.of(link, 9).pack() == old
    assert unpack_record(old).data == b""


def test_data_stands_at_the_end_with_its_length_and_another_version() -> None:
    link = Link("https://a.test/x", Fingerprint(7), HostKey("a.test"), JobNumber(1), data=b"abc")
    packed = Record.of(link, 9).pack()
    assert packed[0] == 2
    assert packed.endswith(b"/xabc\x00\x03")


def test_counters_beyond_their_field_stay_at_its_end() -> None:
    link = Link("http://a.test/", Fingerprint(1), HostKey("a.test"), JobNumber(1))
    record = Record.of(link, 0)._replace(attempts=300, lost=999, depth=70_000)
    found = unpack_record(record.pack())
    assert (found.attempts, found.lost, found.depth) == (255, 255, 65_535)


def test_a_record_of_a_role_that_is_not_known_is_refused() -> None:
    link = Link("http://a.test/", Fingerprint(1), HostKey("a.test"), JobNumber(1))
    packed = bytearray(Record.of(link, 0).pack())
    packed[1] |= 0b1100
    with pytest.raises(ValueError, match="3 is not a valid Role"):
        unpack_record(bytes(packed))


def test_a_record_of_another_version_is_refused_by_number() -> None:
    link = Link("http://a.test/", Fingerprint(1), HostKey("a.test"), JobNumber(1))
    packed = bytearray(Record.of(link, 0).pack())
    packed[0] = 9
    with pytest.raises(ValueError, match="version 9"):
        unpack_record(bytes(packed))


ODD_URLS = [
    "http://a.com/",
    "https://a.com/",
    "http://a.com./",
    "http://a.com.:81/x",
    "https://a.com.:81/x?y",
    "http://a.com:81/",
    "http://a.com:443/",
    "https://a.com:80/",
    "http://a.com..:81/",
    "http://[::1]/",
    "http://[2001:db8::1]:8080/x",
    "http://127.0.0.1:8000/",
    "http://localhost/",
    "http://xn--bcher-kva.example/ü",
    "http://a.com/http://b.com/",
    "http://a.com//double",
    "http://a.com/?q",
    "https://httpsa.com/",
    "http://a.com.evil.test/x",
]


@pytest.mark.parametrize("text", ODD_URLS)
def test_a_url_comes_back_to_the_letter_whatever_its_host(text: str) -> None:
    url = parse_http(text)
    host = host_key(url)
    link = Link(url, Fingerprint(7), host, JobNumber(1), referrer="http://ref.test/")
    record = unpack_record(Record.of(link, 5).pack())
    assert record.url(host) == url


LABELS = st.text("abc-", min_size=1, max_size=5).filter(lambda s: s.strip("-") == s)
HOSTS = st.lists(LABELS, min_size=1, max_size=3).map(".".join)


@given(
    st.sampled_from(["http", "https"]),
    HOSTS,
    st.sampled_from(["", "."]),
    st.sampled_from(["", ":80", ":81", ":443"]),
    st.sampled_from(["/", "/x", "/?q", "//", "/.", "/http://a/"]),
)
def test_any_url_comes_back_to_the_letter(
    scheme: str, host: str, dot: str, port: str, path: str
) -> None:
    url = parse_http(f"{scheme}://{host}{dot}{port}{path}")
    link = Link(url, Fingerprint(7), host_key(url), JobNumber(1))
    assert unpack_record(Record.of(link, 0).pack()).url(link.host) == url


def test_a_new_record_begins_with_no_tries_and_its_first_visit() -> None:
    link = Link(
        "https://a.test/x",
        Fingerprint(3),
        HostKey("a.test"),
        JobNumber(1),
        slot=9,
        page_class=PageClass.NAV,
        priority=8,
        depth=4,
        referrer="https://a.test/",
    )
    record = Record.of(link, 1234)
    assert (record.attempts, record.lost, record.visit, record.found_s) == (0, 0, 1, 1234)
    assert (record.slot, record.page_class, record.priority) == (9, PageClass.NAV, 8)
    assert (record.depth, record.referrer, record.fp) == (4, "https://a.test/", 3)


KEYS = st.tuples(U32, U8, U8, U32, U64)


@given(KEYS, KEYS)
def test_the_order_of_keys_is_queue_class_urgency_rank_and_turn(
    one: tuple[int, int, int, int, int], two: tuple[int, int, int, int, int]
) -> None:
    assert (entry_key(*one) < entry_key(*two)) == (one < two)
    assert rank_of(entry_key(*one)) == one[3]
    assert entry_key(*one).startswith(queue_prefix(one[0]))
    assert entry_key(*one).startswith(line_prefix(one[0], one[1]))


@given(st.tuples(U64, U32, U64), st.tuples(U64, U32, U64))
def test_what_is_due_first_comes_first_and_reads_back(
    one: tuple[int, int, int], two: tuple[int, int, int]
) -> None:
    assert (due_key(*one) < due_key(*two)) == (one < two)
    assert due_parts(due_key(*one)) == one


@given(U32, U64, U32, U64)
def test_the_urls_of_a_queue_sit_together(q1: int, fp1: int, q2: int, fp2: int) -> None:
    assert (seen_key(q1, fp1) < seen_key(q2, fp2)) == ((q1, fp1) < (q2, fp2))
    assert seen_key(q1, fp1).startswith(queue_prefix(q1))


@given(TEXTS, U32, U32, st.integers(0, 2**63 - 1))
def test_a_hosts_gate_reads_back(name: str, delay: int, per_host: int, at_ms: int) -> None:
    row = HostRow(1, name, delay, per_host, at_ms)
    assert unpack_host(pack_row(row)) == row


@given(st.lists(U32, min_size=6, max_size=6))
def test_a_queues_counters_read_back(counters: list[int]) -> None:
    row = QueueRow(1, 5, JobNumber(2), *counters)
    assert unpack_queue(pack_row(row)) == row


def test_the_states_of_a_url_are_all_different() -> None:
    states = (layout.QUEUED, layout.SCHEDULED, layout.DONE, layout.DEAD, layout.DROPPED)
    assert len(set(states)) == len(states)
