"""Partition keys, and the slot and tag they fall into.

All URLs with one partition key sit in one slot, so that one member handles them. Slot and tag come
from one stable hash: ``slot % TAGS == tag``, and a key can move to a sibling slot of its tag
without its data moving.

Above the slots with an owner each there are *wide* ones: a host in one of those is stored under its
own tag like any other, but who may claim its URLs is decided by something else than the host. There
are 128 buckets, shared out among the members, and one more that is open to every member.
"""

from enum import StrEnum
from typing import assert_never

from xxhash import xxh3_64_intdigest

from skitter.types import HostKey
from skitter.url.domain import registered_domain
from skitter.url.host import host_key, host_name

SLOTS = 16_384
TAGS = 256
SHARED_KEY = "*"
BUCKETS = 128
OPEN = BUCKETS
"""The bucket every member may claim from."""


class Partition(StrEnum):
    """What decides the slot of a URL."""

    HOST = "host"
    DOMAIN = "domain"
    SUBSITE = "subsite"
    URL = "url"
    SHARED = "shared"


def partition_key(href: str, kind: Partition) -> str:
    """Return the partition key of a serialised http(s) URL.

    For ``URL`` that is ``href`` itself: give the canonical form, so that spellings of one page
    stay together.
    """
    match kind:
        case Partition.HOST:
            return host_key(href)
        case Partition.DOMAIN:
            return domain_key(host_key(href))
        case Partition.SUBSITE:
            return subsite_key(host_key(href))
        case Partition.URL:
            return href
        case Partition.SHARED:
            return SHARED_KEY
        case _:
            assert_never(kind)


def domain_key(host: HostKey) -> str:
    """Return the registered domain of a host; the host name where there is none (IP, localhost)."""
    name = host_name(host)
    return registered_domain(name) or name


def subsite_key(host: HostKey) -> str:
    """Return registered domain and first host label: "example.com/news" for news.example.com.

    The bare domain is the sub-site "example.com/". A host without registered domain is one
    sub-site of its own.
    """
    name = host_name(host)
    domain = registered_domain(name)
    if domain is None:
        return name
    label = "" if len(name) == len(domain) else name.partition(".")[0]
    return f"{domain}/{label}"


def slot_of(key: str) -> int:
    """Return the slot a partition key falls into, 0 to 16,383."""
    return xxh3_64_intdigest(key.encode()) % SLOTS


def tag_of(key: str) -> int:
    """Return the tag a partition key is stored under, 0 to 255."""
    return xxh3_64_intdigest(key.encode()) % TAGS


def wide_slot(host: HostKey, bucket: int) -> int:
    """Return the slot of a host whose URLs are claimed by whoever has a bucket."""
    return SLOTS + bucket * TAGS + tag_of(host)


def is_wide(slot: int) -> bool:
    """Tell whether a slot has no owner of its own."""
    return slot >= SLOTS


def slot_in(host: HostKey, kind: Partition) -> int:
    """Return the slot of a host in a job of that partition."""
    match kind:
        case Partition.HOST:
            return slot_of(host)
        case Partition.DOMAIN:
            return wide_slot(host, tag_of(domain_key(host)) % BUCKETS)
        case Partition.SUBSITE:
            return wide_slot(host, tag_of(subsite_key(host)) % BUCKETS)
        case Partition.URL | Partition.SHARED:
            return wide_slot(host, OPEN)
        case _:
            assert_never(kind)
