"""Hypothesis strategies for URLs: hostile ones, but http(s) and parseable."""

from hypothesis import strategies as st

from skitter.errors import InvalidUrl
from skitter.url.parse import parse_http

HOSTS = st.sampled_from(
    [
        "example.com",
        "www.example.co.uk",
        "news.example.com.",
        "bücher.example",
        "127.0.0.1",
        "[2001:db8::1]",
        "localhost",
        "a..",
    ]
)
PORTS = st.sampled_from(["", ":80", ":443", ":8080"])
USERS = st.sampled_from(["", "", "ana@", "ana:se@cret@"])
PIECES = st.one_of(
    st.sampled_from(
        [
            *("%41", "%e4%bd%a0", "%2e", "%2F", "%", "%2", "%zz", "%25", "..", ".", "//", ";"),
            *(";jsessionid=A1", ";JSESSIONID=b;x=1", "..;jsessionid=1", "|", "[", "]", "^", "{"),
            *("`", "\\", "@", "'", "+", "~", "中", "😀", "&", "=", ":", "a", "B", "0"),
        ]
    ),
    st.text(max_size=3),
)
PATHS = st.lists(st.one_of(st.just("/"), PIECES), max_size=8).map("".join)
PARAMS = st.one_of(
    st.sampled_from(["utm_source=x", "UTM_Medium=y", "utm%5Fterm=z", "PHPSESSID=1", "b=2", "a=1"]),
    st.sampled_from(["", "=", "a", "a=", "=x", "fbclid", "sid=3"]),
    st.lists(PIECES, max_size=3).map("".join),
)
QUERIES = st.one_of(st.just(""), st.lists(PARAMS, max_size=5).map("&".join).map("?".__add__))
FRAGMENTS = st.one_of(st.just(""), st.text(max_size=5).map("#".__add__))

TEXTS = st.tuples(
    st.sampled_from(["http://", "https://"]), USERS, HOSTS, PORTS, PATHS, QUERIES, FRAGMENTS
).map(lambda parts: "".join((*parts[:4], "/", *parts[4:])))


def _serialised(text: str) -> str | None:
    try:
        return parse_http(text)
    except InvalidUrl:
        return None


HREFS = TEXTS.map(_serialised).filter(lambda href: href is not None).map(str)
"""Serialised http(s) URLs."""
