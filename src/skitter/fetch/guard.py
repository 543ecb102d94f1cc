"""Which addresses may be connected to.

Links are written by strangers, so a page may point into the operator's own network. The guard
judges addresses, never names: after resolution and once more where the socket is made.
"""

from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Final

_METADATA: Final = "cloud metadata"
_LINK_LOCAL: Final = "link-local"

# IANA special-purpose registries (RFC 6890 and later entries); first match names the reason.
_RANGES: Final = (
    ("169.254.169.254/32", _METADATA),
    ("169.254.170.2/32", _METADATA),
    ("169.254.170.23/32", _METADATA),
    ("168.63.129.16/32", _METADATA),
    ("100.100.100.200/32", _METADATA),
    ("192.0.0.192/32", _METADATA),
    ("fd00:ec2::254/128", _METADATA),
    ("fd00:ec2::23/128", _METADATA),
    ("fd20:ce::254/128", _METADATA),
    ("0.0.0.0/8", "unspecified"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "carrier-grade NAT"),
    ("127.0.0.0/8", "loopback"),
    ("169.254.0.0/16", _LINK_LOCAL),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "reserved"),
    ("192.0.2.0/24", "documentation"),
    ("192.88.99.0/24", "reserved"),
    ("192.168.0.0/16", "private"),
    ("198.18.0.0/15", "benchmarking"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved"),
    ("::/128", "unspecified"),
    ("::1/128", "loopback"),
    ("64:ff9b:1::/48", "private"),
    ("100::/64", "reserved"),
    ("2001:2::/48", "benchmarking"),
    ("2001::/23", "reserved"),
    ("2001:db8::/32", "documentation"),
    ("2002::/16", "reserved"),
    ("3fff::/20", "documentation"),
    ("5f00::/16", "reserved"),
    ("fc00::/7", "private"),
    ("fe80::/10", _LINK_LOCAL),
    ("fec0::/10", "private"),
    ("ff00::/8", "multicast"),
)


def _networks() -> tuple[
    tuple[tuple[IPv4Network, str], ...],
    tuple[tuple[IPv6Network, str], ...],
]:
    four: list[tuple[IPv4Network, str]] = []
    six: list[tuple[IPv6Network, str]] = []
    for text, kind in _RANGES:
        network = ip_network(text)
        if isinstance(network, IPv4Network):
            four.append((network, kind))
        else:
            six.append((network, kind))
    return tuple(four), tuple(six)


_V4, _V6 = _networks()
_NAT64: Final = IPv6Network("64:ff9b::/96")
_V4_COMPATIBLE: Final = IPv6Network("::/96")


def _embedded(address: IPv6Address) -> tuple[IPv4Address, ...]:
    """Return the IPv4 addresses a packet to ``address`` may really go to."""
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address.teredo is not None:
        return address.teredo
    if address in _NAT64 or (address in _V4_COMPATIBLE and int(address) > 1):
        return (IPv4Address(int(address) & 0xFFFFFFFF),)
    return ()


def special_kind(address: str) -> str | None:
    """Return what makes ``address`` special ("loopback", "private", ...), None for a public one.

    An IPv6 address that carries an IPv4 one is judged by both. Text that is no address is
    "malformed".
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return "malformed"
    if isinstance(parsed, IPv4Address):
        return next((kind for network, kind in _V4 if parsed in network), None)
    # A zone index would take part in comparisons and hide a match.
    plain = IPv6Address(int(parsed))
    for inner in _embedded(plain):
        kind = special_kind(str(inner))
        if kind is not None:
            return kind
    return next((kind for network, kind in _V6 if plain in network), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressGuard:
    """Refuses addresses that are not on the public Internet.

    ``allow_private`` is the operator's switch and opens everything but the metadata services of
    clouds, which hand out credentials and are never a crawl target. A name in the operator's hosts
    table may lead to private addresses without it, but to link-local ones, where such services
    are, never.
    """

    allow_private: bool = False

    def why_not(self, address: str, *, named: bool = False) -> str | None:
        """Return why ``address`` is refused, or None when it may be connected to.

        ``named`` says that the hosts table of the operator leads there.
        """
        kind = special_kind(address)
        if kind is None:
            return None
        closed = kind in (_METADATA, "malformed") or (named and kind == _LINK_LOCAL)
        if (self.allow_private or named) and not closed:
            return None
        return f"{address} is {with_article(kind)} address"


def with_article(words: str) -> str:
    """Return ``words`` behind the article that they are spoken with."""
    return f"an {words}" if words.startswith(tuple("aeiou")) else f"a {words}"
