import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict, CIMultiDictProxy

from skitter.errors import FetchError
from skitter.fetch.wire import Origins, RequestHead, plain_headers


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.test/", (False, "a.test", 80, b"a.test", b"/")),
        ("https://a.test/x?y=1", (True, "a.test", 443, b"a.test", b"/x?y=1")),
        ("http://a.test:8080/x#frag", (False, "a.test", 8080, b"a.test:8080", b"/x")),
        ("https://u:p@a.test/x", (True, "a.test", 443, b"a.test", b"/x")),
        ("http://[2001:db8::1]:81/", (False, "2001:db8::1", 81, b"[2001:db8::1]:81", b"/")),
        ("http://a.test?x=/y", (False, "a.test", 80, b"a.test", b"/?x=/y")),
        ("http://a.test", (False, "a.test", 80, b"a.test", b"/")),
        ("HTTP://A.test/%7e", (False, "a.test", 80, b"a.test", b"/%7e")),
        ("http://a.test/x y/é", (False, "a.test", 80, b"a.test", b"/x%20y/%C3%A9")),
    ],
)
def test_a_url_is_split_into_origin_and_target(
    url: str, expected: tuple[bool, str, int, bytes, bytes]
) -> None:
    origins = Origins()
    for _ in range(2):
        origin, target = origins.split(url)
        assert (origin.tls, origin.host, origin.port, origin.authority, target) == expected


def test_urls_of_one_origin_share_it_and_a_longer_name_does_not() -> None:
    origins = Origins()
    one, _ = origins.split("http://a.test/x")
    other, _ = origins.split("http://a.test/y")
    longer, target = origins.split("http://a.testx")
    assert one is other
    assert (longer.host, target) == ("a.testx", b"/")


def test_only_the_latest_origins_are_remembered() -> None:
    origins = Origins()
    first, _ = origins.split("http://first.test/")
    for number in range(10_001):
        origins.split(f"http://h{number}.test/")
    assert origins.split("http://first.test/")[0] is not first


@given(st.text(max_size=40))
def test_a_target_is_always_one_word_of_printable_ascii(path: str) -> None:
    _, target = Origins().split(f"http://a.test/{path}")
    assert target.startswith(b"/")
    assert all(0x21 <= byte <= 0x7E for byte in target)


@given(st.text(max_size=40))
def test_any_text_is_split_or_refused(url: str) -> None:
    for text in (url, f"http://{url}"):
        try:
            origin, _ = Origins().split(text)
        except FetchError:
            continue
        assert origin.host
        assert 0 < origin.port < 65536


def test_headers_are_merged_without_regard_to_case() -> None:
    head = RequestHead({"User-Agent": "a", "Accept": "b"})
    origin, target = Origins().split("http://a.test/x")
    written = head.write(origin, target, "u", {"ACCEPT": "c", "X": "ä"})
    assert written == (
        b"GET /x HTTP/1.1\r\nHost: a.test\r\nUser-Agent: a\r\nACCEPT: c\r\nX: \xc3\xa4\r\n\r\n"
    )


def test_default_headers_are_checked_when_the_writer_is_made() -> None:
    with pytest.raises(FetchError, match="User-Agent"):
        RequestHead({"User-Agent": "a\nb"})


def test_surrogates_never_leave() -> None:
    raw = CIMultiDict([("X", "caf\udce9"), ("X", "中"), ("Location", "/\udcff"), ("Y", "ok")])
    plain = plain_headers(CIMultiDictProxy(raw))
    assert plain == {"x": "café, 中", "location": "/%FF", "y": "ok"}
