from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.url.partition import SLOTS, TAGS, Partition, partition_key, slot_of, tag_of

PINNED = {"example.com": 15219, "news.example.com:8443": 2033, "*": 11533}


@pytest.mark.parametrize(
    ("kind", "href", "key"),
    [
        ("host", "https://news.example.com:8443/a", "news.example.com:8443"),
        ("host", "https://news.example.com/a", "news.example.com"),
        ("domain", "https://news.example.com:8443/a", "example.com"),
        ("domain", "http://10.1.2.3:81/a", "10.1.2.3"),
        ("domain", "http://localhost:81/a", "localhost"),
        ("subsite", "http://news.example.com/a", "example.com/news"),
        ("subsite", "http://news.eu.example.com/a", "example.com/news"),
        ("subsite", "http://example.com/a", "example.com/"),
        ("subsite", "http://example.com./a", "example.com/"),
        ("subsite", "http://[::1]:81/a", "[::1]"),
        ("url", "http://example.com/a?b", "http://example.com/a?b"),
        ("shared", "http://example.com/a", "*"),
    ],
)
def test_the_partition_key_of_each_kind(kind: str, href: str, key: str) -> None:
    assert partition_key(href, Partition(kind)) == key


@given(st.text())
def test_slot_and_tag_come_from_one_hash(key: str) -> None:
    assert 0 <= slot_of(key) < SLOTS
    assert slot_of(key) % TAGS == tag_of(key)


def test_slots_stay_the_same_between_versions() -> None:
    assert {key: slot_of(key) for key in PINNED} == PINNED


def test_keys_spread_evenly_over_the_tags() -> None:
    load = Counter(tag_of(f"host{number}.example") for number in range(25_600))
    assert len(load) == TAGS
    assert max(load.values()) < 160
    assert min(load.values()) > 50
