"""URLs in what people write."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.url.find import MAX_CANDIDATES, MAX_FOUND, MAX_LENGTH, find_urls


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("see https://example.com/a.", ["https://example.com/a"]),
        ("HTTP://EXAMPLE.com/A?b=1#c!", ["HTTP://EXAMPLE.com/A?b=1#c"]),
        ("(https://example.com/a), or (http://b.org)", ["https://example.com/a", "http://b.org"]),
        ("https://en.wikipedia.org/wiki/Duck_(bird)", ["https://en.wikipedia.org/wiki/Duck_(bird)"]),
        ("(see https://w.org/Duck_(bird))", ["https://w.org/Duck_(bird)"]),
        ("[a](https://a.com/x) [https://b.com](https://c.com)",
         ["https://a.com/x", "https://b.com", "https://c.com"]),
        ("<a href='https://a.com/x'>https://a.com/y</a>", ["https://a.com/x", "https://a.com/y"]),
        ('"https://a.com/x?y=1&z=2",', ["https://a.com/x?y=1&z=2"]),
        ("http://localhost:8080/x http://127.0.0.1:9/ http://[::1]:9/y",
         ["http://localhost:8080/x", "http://127.0.0.1:9/", "http://[::1]:9/y"]),
        ("https://user:secret@a.com/x", ["https://user:secret@a.com/x"]),
        ("https://a.com:8080801/x", ["https://a.com"]),
        ("https:// and http://", []),
        ("https://a.com...", ["https://a.com"]),
        ("https://web.archive.org/web/2020/http://a.com/",
         ["https://web.archive.org/web/2020/http://a.com/"]),
        ("http://a.comhttp://b.com/xhttps://c.com",
         ["http://a.com", "http://b.com/x", "https://c.com"]),
        ("again https://a.com/ and https://a.com/", ["https://a.com/"]),
    ],
)  # fmt: skip
def test_urls_with_a_scheme_end_where_their_sentence_goes_on(text: str, wanted: list[str]) -> None:
    assert find_urls(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("看这里https://example.com/a，很好", ["https://example.com/a"]),
        ("看这里https://example.com/a很好", ["https://example.com/a"]),
        ("https://t.cn/A6很好http://t.cn/B7", ["https://t.cn/A6", "http://t.cn/B7"]),
        ("http://example.com很好", ["http://example.com"]),
        ("http://example.com/谢谢", ["http://example.com/"]),
        ("（https://example.com/a）。", ["https://example.com/a"]),
        ("「https://example.com/a」", ["https://example.com/a"]),
        ("https://zh.wikipedia.org/wiki/北京。", ["https://zh.wikipedia.org/wiki/北京"]),
        ("https://a.cn/s?wd=北京&x=1 好", ["https://a.cn/s?wd=北京&x=1"]),
        ("http://例子.中国/a", ["http://例子.中国/a"]),
        ("https://bücher.example/straße", ["https://bücher.example/straße"]),
        ("访问www.example.com或example.org。", ["www.example.com", "example.org"]),
        ("ソースhttps://example.jp/aを見て", ["https://example.jp/a"]),
    ],
)
def test_urls_in_chinese_text_need_no_space_around_them(text: str, wanted: list[str]) -> None:
    assert find_urls(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("go to www.example.com/x, please", ["www.example.com/x"]),
        ("www.host.tld/path and WWW.Host.Corp.", ["www.host.tld/path", "WWW.Host.Corp"]),
        ("见www.host.tld:8080/a?b=1。", ["www.host.tld:8080/a?b=1"]),
        ("host.tld/path, www.tld and www. are none", []),
        ("example.com and Example.co.uk/x?y", ["example.com", "Example.co.uk/x?y"]),
        ("mail ana@example.com, or ana.b@example.com", []),
        ("e.g. this.thing is no.such-suffix", []),
        ("run main.py, read README.md and lib.rs/x", ["lib.rs/x"]),
        ("co.uk and com are none", []),
        ("version 1.2.3 and 10.0.0.1", []),
        ("a-b.example.com:8080/x", ["a-b.example.com:8080/x"]),
        ("see example.com.", ["example.com"]),
        ("end.Next sentence", []),
    ],
)
def test_names_without_a_scheme_count_when_they_end_in_a_public_suffix(
    text: str, wanted: list[str]
) -> None:
    assert find_urls(text) == wanted


def test_no_more_are_taken_than_wanted_and_none_that_is_too_long() -> None:
    many = " ".join(f"https://a.com/{n}" for n in range(1000))
    assert len(find_urls(many)) == MAX_FOUND
    assert find_urls(many, 2) == ["https://a.com/0", "https://a.com/1"]
    assert find_urls(f"https://a.com/{'x' * MAX_LENGTH} https://b.com/") == ["https://b.com/"]
    assert find_urls("http://a.b " * MAX_CANDIDATES + "https://c.com/") == ["http://a.b"]


@pytest.mark.parametrize(
    "piece",
    ["a.", "http://", "https://a很", "www.", "a-", "https://a.com/很", "((", "))", "https://a.com/)",
     "[](", "@", "a@", "%", "http://a:", "http://例", "http://例.", "https://a.com/x.", "a.com很",
     "http://a.comhttp", "/=很", "\u3000", "http://[", "x.co.uk"],
)  # fmt: skip
def test_hostile_text_takes_no_longer_than_its_length(piece: str) -> None:
    text = (piece * 100_000)[:100_000]
    begun = time.process_time()
    find_urls(text)
    find_urls("https://a.com/" + text)
    assert time.process_time() - begun < 3.0


@given(st.text())
def test_what_is_found_is_in_the_text(text: str) -> None:
    assert all(url in text for url in find_urls(text))
