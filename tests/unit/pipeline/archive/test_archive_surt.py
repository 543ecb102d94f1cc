"""Sort keys; tests/e2e/test_pywb_replay.py compares them with those of a replay tool."""

import pytest

from skitter.pipeline.archive.surt import surt_key


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://example.com/path/file.html", "com,example)/path/file.html"),
        ("https://WWW.Example.com:443/B/?z=1&a=2#x", "com,example)/b?a=2&z=1"),
        ("http://www2.example.co.uk", "uk,co,example)/"),
        ("http://example.com:443/", "com,example:443)/"),
        ("http://127.0.0.1:8000/a", "1,0,0,127:8000)/a"),
        ("http://[::1]:80/", "::1)/"),
        ("http://user:secret@example.com/?", "com,example)/"),
        ("http://example.com/a//b/../c/.", "com,example)/a/c"),
        ("http://example.com/%7Euser/%E4%BD%A0%2541", "com,example)/~user/%e4%bd%a0a"),
        ("http://example.com/?b&a=&a", "com,example)/?a&a=&b"),
        (f"http://example.com/?PHPSESSID={'0' * 32}&x=1", "com,example)/?x=1"),
        (f"http://example.com/({'a' * 24})/x.aspx", "com,example)/x.aspx"),
        ("http://bücher.de/", "de,xn--bcher-kva)/"),
        ("urn:isbn:1", "urn:isbn:1"),
    ],
)
def test_a_key_is_the_reversed_host_and_what_matters_of_the_rest(url: str, key: str) -> None:
    assert surt_key(url) == key
