from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.fetch.guard import AddressGuard, special_kind

PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "93.184.216.34",
    "172.15.255.255",
    "172.32.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2001:4860:4860::8888",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
]
SPECIAL = {
    "127.0.0.1": "loopback",
    "127.255.255.254": "loopback",
    "::1": "loopback",
    "10.1.2.3": "private",
    "172.16.0.1": "private",
    "172.31.255.255": "private",
    "192.168.0.1": "private",
    "fc00::1": "private",
    "fdff:ffff::1": "private",
    "fec0::1": "private",
    "169.254.0.1": "link-local",
    "fe80::1": "link-local",
    "fe80::1%eth0": "link-local",
    "169.254.169.254": "cloud metadata",
    "fd00:ec2::254": "cloud metadata",
    "168.63.129.16": "cloud metadata",
    "100.64.0.1": "carrier-grade NAT",
    "100.127.255.255": "carrier-grade NAT",
    "224.0.0.1": "multicast",
    "ff02::1": "multicast",
    "0.0.0.0": "unspecified",
    "0.1.2.3": "unspecified",
    "::": "unspecified",
    "255.255.255.255": "reserved",
    "240.0.0.1": "reserved",
    "192.0.2.1": "documentation",
    "2001:db8::1": "documentation",
    "198.18.0.1": "benchmarking",
    # IPv4 inside IPv6: mapped, compatible, 6to4, NAT64, local NAT64, Teredo client and server.
    "::ffff:127.0.0.1": "loopback",
    "::ffff:169.254.169.254": "cloud metadata",
    "::7f00:1": "loopback",
    "2002:7f00:1::": "loopback",
    "2002:c0a8:101::1": "private",
    "64:ff9b::7f00:1": "loopback",
    "64:ff9b::a9fe:a9fe": "cloud metadata",
    "64:ff9b:1::8.8.8.8": "private",
    "2001:0:4136:e378:8000:63bf:f5ff:fffe": "private",
    "2001:0:7f00:1::f7f7:f7f7": "loopback",
    "not an address": "malformed",
    "": "malformed",
}


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_allowed(address: str) -> None:
    assert AddressGuard().why_not(address) is None


@pytest.mark.parametrize(("address", "kind"), SPECIAL.items())
def test_special_addresses_are_refused_and_named(address: str, kind: str) -> None:
    assert special_kind(address) == kind
    article = "an" if kind == "unspecified" else "a"
    assert AddressGuard().why_not(address) == f"{address} is {article} {kind} address"


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "::1", "fe80::1", "100.64.0.1"])
def test_the_operator_may_open_private_addresses(address: str) -> None:
    assert AddressGuard(allow_private=True).why_not(address) is None


@pytest.mark.parametrize("address", ["169.254.169.254", "::ffff:169.254.169.254", "fd00:ec2::254"])
def test_metadata_services_stay_closed_even_then(address: str) -> None:
    assert "metadata" in (AddressGuard(allow_private=True).why_not(address) or "")


@pytest.mark.parametrize("allow_private", [False, True])
@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "169.254.170.2",
        "169.254.170.23",
        "fd00:ec2::254",
        "fd00:ec2::23",
        "100.100.100.200",
        "168.63.129.16",
        "169.254.1.1",
        "fe80::1",
        "fe80::1%eth0",
    ],
)
def test_the_hosts_table_opens_no_metadata_service(address: str, *, allow_private: bool) -> None:
    why = AddressGuard(allow_private=allow_private).why_not(address, named=True) or ""
    assert "metadata" in why or "link-local" in why


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "::1", "fd00::1", "8.8.8.8"])
def test_the_hosts_table_may_lead_to_private_addresses(address: str) -> None:
    assert AddressGuard().why_not(address, named=True) is None


@given(st.ip_addresses(v=4))
def test_a_refused_ipv4_address_is_refused_in_every_disguise(address: IPv4Address) -> None:
    number = int(address)
    mapped = IPv6Address((0xFFFF << 32) | number)
    nat64 = IPv6Address((0x64FF9B << 96) | number)
    sixtofour = IPv6Address((0x2002 << 112) | (number << 80))
    teredo = IPv6Address((0x20010000 << 96) | (0x08080808 << 64) | (number ^ 0xFFFFFFFF))
    kind = special_kind(str(address))
    assert special_kind(str(mapped)) == special_kind(str(nat64)) == kind
    assert special_kind(str(sixtofour)) == special_kind(str(teredo)) == (kind or "reserved")


@given(st.ip_addresses())
def test_what_python_calls_private_is_never_let_through(
    address: IPv4Address | IPv6Address,
) -> None:
    if address.is_private or address.is_multicast or address.is_loopback:
        assert AddressGuard().why_not(str(address)) is not None
