import pytest
from hypothesis import given
from url import URL
from url_strategies import HREFS

from skitter.types import HostKey
from skitter.url.host import host_key, host_name, origin


@pytest.mark.parametrize(
    ("href", "key", "site", "name"),
    [
        ("http://site.test/", "site.test", "http://site.test", "site.test"),
        ("https://site.test/a:b@c", "site.test", "https://site.test", "site.test"),
        ("https://site.test:80/", "site.test:80", "https://site.test:80", "site.test"),
        ("http://ana:pw@site.test:81/", "site.test:81", "http://site.test:81", "site.test"),
        ("http://site.test./", "site.test", "http://site.test.", "site.test"),
        ("http://site.test.:81/", "site.test:81", "http://site.test.:81", "site.test"),
        ("http://[2001:db8::1]/", "[2001:db8::1]", "http://[2001:db8::1]", "[2001:db8::1]"),
        ("http://u@[::1]:81/", "[::1]:81", "http://[::1]:81", "[::1]"),
        ("http://127.0.0.1:9/", "127.0.0.1:9", "http://127.0.0.1:9", "127.0.0.1"),
        ("http://./", ".", "http://.", "."),
    ],
)
def test_the_parts_of_an_authority(href: str, key: str, site: str, name: str) -> None:
    assert host_key(href) == key
    assert origin(href) == site
    assert host_name(HostKey(key)) == name


@given(HREFS)
def test_slicing_agrees_with_the_parser(href: str) -> None:
    parsed = URL.parse(href)
    host = parsed.host_str or ""
    port = "" if parsed.port is None else f":{parsed.port}"
    assert origin(href) == f"{parsed.scheme}://{host}{port}"
    dotless = host.removesuffix(".") if not host.endswith("..") else host
    assert host_key(href) == dotless + port
    assert host_name(host_key(href)) == dotless
