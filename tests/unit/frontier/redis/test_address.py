"""The URL of a store: what it says, what is refused, and that no message shows a password."""

import pytest

from skitter.errors import ConfigError
from skitter.frontier.redis.address import Place, StoreAddress, without_password


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("redis://host", StoreAddress((Place("host", 6379),))),
        ("redis://host/", StoreAddress((Place("host", 6379),))),
        (" redis://host:7000\n", StoreAddress((Place("host", 7000),))),
        ("REDIS://host/3", StoreAddress((Place("host", 6379),), db=3)),
        ("redis://:word@host", StoreAddress((Place("host", 6379),), password="word")),
        ("redis://ann@host", StoreAddress((Place("host", 6379),), user="ann")),
        ("redis://ann:@host", StoreAddress((Place("host", 6379),), user="ann")),
        (
            "redis://ann%40home:a%3Ab%2Fc%20d@host",
            StoreAddress((Place("host", 6379),), user="ann@home", password="a:b/c d"),
        ),
        ("redis://a:b:c@host", StoreAddress((Place("host", 6379),), user="a", password="b:c")),
        ("redis://:p@ss@host", StoreAddress((Place("host", 6379),), password="p@ss")),
        ("rediss://host", StoreAddress((Place("host", 6379),), tls=True)),
        ("redis://[::1]", StoreAddress((Place("::1", 6379),))),
        ("redis://[fe80::1%eth0]:7", StoreAddress((Place("fe80::1%eth0", 7),))),
        (
            "rediss://ann:word@[::1]:7001,b.test,10.0.0.3:7003/?namespace=news.cn&ca=/etc/ca.pem",
            StoreAddress(
                (Place("::1", 7001), Place("b.test", 6379), Place("10.0.0.3", 7003)),
                user="ann",
                password="word",
                tls=True,
                ca="/etc/ca.pem",
                namespace="news.cn",
            ),
        ),
        ("redis://host?namespace=a_b-9", StoreAddress((Place("host", 6379),), namespace="a_b-9")),
    ],
)
def test_a_url_is_taken_apart(url: str, wanted: StoreAddress) -> None:
    assert StoreAddress.parse(url) == wanted


def test_what_is_not_said_has_a_default() -> None:
    address = StoreAddress.parse("redis://host")
    assert (address.namespace, address.db, address.tls, address.ca) == ("skitter", 0, False, "")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("", "not a store's URL"),
        ("host:6379", "not a store's URL"),
        ("http://host", "not a store's URL"),
        ("unix:///run/redis.sock", "not a store's URL"),
        ("redis:host", "not a store's URL"),
        ("redis://", "names no host"),
        ("redis:///1", "names no host"),
        ("redis://a,,b", "names no host"),
        ("redis://a b", "'a b' is not a host"),
        ("redis://host:port", "port 'port'"),
        ("redis://host:0", "port '0'"),
        ("redis://host:65536", "port '65536'"),
        ("redis://host:-1", "port '-1'"),
        ("redis://host:٣", "port '٣'"),
        ("redis://2001:db8::1", r"brackets: \[2001:db8::1\]"),
        ("redis://fe80::1:6379", "brackets"),
        ("redis://[::1", "not an IPv6 address in brackets"),
        ("redis://[::1]7000", "not an IPv6 address in brackets"),
        ("redis://[host]", "not an IPv6 address in brackets"),
        ("redis://host/one", "database 'one'"),
        ("redis://host/-1", "database '-1'"),
        ("redis://host/0/1", "database '0/1'"),
        ("redis://host?db=1", "'db' is not an option"),
        ("redis://host?namespace=", "namespace ''"),
        ("redis://host?namespace=a{b}", "namespace 'a{b}'"),
        ("redis://host?namespace=" + "n" * 65, "1 to 64"),
        ("redis://host?ca=/etc/ca.pem", "ca is for TLS"),
        ("rediss://host?ca=", "ca is empty"),
    ],
)
def test_a_url_that_cannot_be_read_is_refused_with_the_reason(url: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why) as raised:
        StoreAddress.parse(url)
    assert str(raised.value).startswith(f"store {url!r}: ")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "url",
    [
        "redis://ann:secret@host",
        "redis://ann:secret@host:bad",
        "redis://ann:secret@host/bad",
        "redis://ann:secret@host?bad=1",
        "redis://:se/cret@host",
        "redis://ann:se?cret@host",
        "redis://ann:se@cret@host:bad",
        "redis://ann:se@cr/et@host",
        "redis://secret@host:bad",
        "http://ann:secret@host",
        "ann:secret@host",
        "redis://:secret",
    ],
)
def test_no_message_shows_a_password(url: str) -> None:
    try:
        address = StoreAddress.parse(url)
    except ConfigError as error:
        text = str(error)
    else:
        text = address.shown + repr(address)
    for piece in ("secret", "cret", "cr/et", "se/", "se@", "se?"):
        assert piece not in text


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://host", "redis://host:6379/"),
        ("redis://:word@host:7000/0", "redis://host:7000/"),
        ("rediss://ann:word@host/2?namespace=x", "rediss://ann@host:6379/2"),
        ("redis://a,[::1]:7001", "redis://a:6379,[::1]:7001/"),
    ],
)
def test_a_store_is_shown_without_password(url: str, shown: str) -> None:
    assert StoreAddress.parse(url).shown == shown


def test_one_server_of_several_is_shown_by_its_own_address() -> None:
    one = StoreAddress.parse("redis://ann:word@a:1/2")
    assert one.shown_at(Place("a", 1)) == "redis://ann@a:1/2"
    many = StoreAddress.parse("rediss://a:1,b:2")
    assert many.shown_at(Place("b", 2)) == "rediss://b:2/"


def test_a_url_without_login_hides_nothing() -> None:
    assert without_password("redis://host:7000/1") == "redis://host:7000/1"
