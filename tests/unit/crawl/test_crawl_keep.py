"""What an exchange leaves for the archive."""

from typing import Any

import pytest
from crawl_rig import HOME, make_job
from msgspec.structs import replace

from skitter.crawl.keep import HIDDEN, Keeper
from skitter.fetch.base import Raw, Response
from skitter.testing.fake_fetcher import page
from skitter.testing.virtual_clock import VirtualClock


def response(request: bytes, cut: str = "") -> Response:
    return replace(page(HOME), raw=Raw(request, b"HTTP/1.1 200 OK\r\n\r\nbody", 19, cut))


def kept(request: bytes, **fields: Any) -> bytes:
    return Keeper(make_job(**fields), VirtualClock()).keep(response(request)).raw.request


def test_an_exchange_is_kept_as_it_went() -> None:
    clock = VirtualClock()
    keeper = Keeper(make_job(), clock)
    made = response(b"GET / HTTP/1.1\r\nHost: site.test\r\n\r\n", cut="length")
    found = keeper.keep(made)
    assert (found.url, found.raw, found.address, found.cut) == (
        HOME,
        made.raw,
        "192.0.2.1",
        "length",
    )
    assert found.at_ms == clock.now_ms()
    assert keeper.keep(made, 7).at_ms == 7


def test_headers_that_hold_secrets_are_archived_by_name_alone() -> None:
    headers = {"Cookie": "session=1", "X-Note": "env:NOTE", "X-Plain": "shown", "X-Api-Key": "k"}
    sent = (
        b"GET / HTTP/1.1\r\nHost: site.test\r\ncookie: session=1; b=2\r\nX-Note: hush\r\n"
        b"X-Plain: shown\r\nX-Api-Key: k\r\n\r\n"
    )
    assert kept(sent, http={"headers": headers}) == (
        b"GET / HTTP/1.1\r\nHost: site.test\r\ncookie: (not archived)\r\n"
        b"X-Note: (not archived)\r\nX-Plain: (not archived)\r\nX-Api-Key: (not archived)\r\n\r\n"
    )


@pytest.mark.parametrize("name", ["X-Auth.Key", "X-Auth|Key", "X-Auth*Key", "$Auth"])
def test_a_name_is_a_name_and_no_pattern(name: str) -> None:
    sent = f"GET / HTTP/1.1\r\n{name}: hush\r\nX-AuthzKey: shown\r\n\r\n".encode()
    found = kept(sent, http={"headers": {name: "hush"}})
    assert b"hush" not in found
    assert b"X-AuthzKey: shown" in found


def test_a_name_inside_a_value_is_not_taken_for_a_header() -> None:
    sent = b"GET /?Cookie: HTTP/1.1\r\nX-Plain: Cookie: x\r\n\r\n"
    assert kept(sent, http={"headers": {"Cookie": "a"}}) == sent
    assert HIDDEN not in kept(sent)
