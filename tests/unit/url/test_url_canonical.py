import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from url_strategies import HREFS

from skitter.url.canonical import (
    DEFAULT_RULES,
    Canonicaliser,
    CanonicalRules,
    canonicalize,
    fetch_url,
)
from skitter.url.parse import parse, parse_http

SITE = "http://site.test"


@pytest.mark.parametrize(
    ("spelling", "canonical"),
    [
        ("http://SITE.test:80/a#part", "/a"),
        ("http://ana:pw@site.test/a", "/a"),
        ("http://site.test./a", "/a"),
        ("http://site.test/x/../a/./b", "/a/b"),
        ("http://site.test/?", "/"),
        ("http://site.test/a?&&b=1&", "/a?b=1"),
        ("http://site.test/%7euser/%41%2d%5f", "/~user/A-_"),
        ("http://site.test/%e4%b8%ad?q=%c3%a9", "/%E4%B8%AD?q=%C3%A9"),
        ("http://site.test/中?q=é", "/%E4%B8%AD?q=%C3%A9"),
        ("http://site.test/100%?q=5%", "/100%25?q=5%25"),
        ("http://site.test/%2%41", "/%252A"),
        ("http://site.test/a|b[c]?d[]=1|2", "/a%7Cb%5Bc%5D?d%5B%5D=1%7C2"),
        ("http://site.test/?q={a}^`\\", "/?q=%7Ba%7D%5E%60%5C"),
        ("http://site.test/a?utm_source=x&id=3&UTM_CAMPAIGN=y", "/a?id=3"),
        ("http://site.test/a?utm%5fsource=x", "/a"),
        ("http://site.test/a?fbclid=abc&gclid=1", "/a"),
        ("http://site.test/a?PHPSESSID=99&page=2", "/a?page=2"),
        ("http://site.test/a?ASPSESSIONIDQQ=1", "/a"),
        ("http://site.test/a;jsessionid=1F.node2?p=1", "/a?p=1"),
        ("http://site.test/a;v=2;JSESSIONID=1/b", "/a;v=2/b"),
        ("http://site.test/a/..;jsessionid=1/b", "/b"),
    ],
)
def test_spellings_of_one_page_share_a_form(spelling: str, canonical: str) -> None:
    assert canonicalize(parse(spelling)) == SITE + canonical


@pytest.mark.parametrize(
    "href",
    [
        "https://site.test/a",
        "http://www.site.test/a",
        "http://site.test:8080/a",
        "http://site.test/a/",
        "http://site.test/A",
        "http://site.test//a",
        "http://site.test/a%2Fb",
        "http://site.test/a%2Cb,c",
        "http://site.test/a?b=&c",
        "http://site.test/a?q=1+2%20",
        "http://site.test/a?b=2&a=1&b=1",
        "http://site.test/a?=1",
        "http://site.test/a?sid=5&session=3&ref=x&utmost=1",
        "http://site.test/a;v=1;jsessionids=2",
        "http://site.test/@ana",
        "http://[2001:db8::1]:81/a",
        "http://./a",
        "http://1.2../a",
    ],
)
def test_what_may_be_another_page_is_left_alone(href: str) -> None:
    assert parse(href) == href
    assert canonicalize(href) == href


def test_the_query_is_sorted_by_name_on_request_and_equal_names_keep_their_order() -> None:
    rules = CanonicalRules(sort_query=True)
    assert canonicalize(f"{SITE}/?b=2&a-b=1&a=9&b=1", rules) == f"{SITE}/?a=9&a-b=1&b=2&b=1"
    assert canonicalize(f"{SITE}/?b=2&utm_id=1&", rules) == f"{SITE}/?b=2"
    assert canonicalize(f"{SITE}/?utm_id=1", rules) == f"{SITE}/"


def test_the_lists_of_parameters_are_configurable() -> None:
    rules = CanonicalRules(tracking=("From", "trk*"), session=())
    href = f"{SITE}/a;jsessionid=1?from=x&trk_a=1&utm_source=y&phpsessid=2"
    assert canonicalize(href, rules) == f"{SITE}/a;jsessionid=1?utm_source=y&phpsessid=2"
    own_session = CanonicalRules(session=("s.id", "tok*"))
    href = f"{SITE}/a;s.id=1;sxid=2;token=3?s.id=4&jsessionid=5"
    assert canonicalize(href, own_session) == f"{SITE}/a;sxid=2?jsessionid=5"


def test_verdicts_do_not_depend_on_how_many_names_were_seen() -> None:
    canonical = Canonicaliser()
    for number in range(10_000):
        href = f"{SITE}/?name{number}=1&utm_source=x"
        assert canonical(href) == f"{SITE}/?name{number}=1"
    long_name = "n" * 100
    assert canonical(f"{SITE}/?{long_name}=1&gclid=1") == f"{SITE}/?{long_name}=1"


def test_what_is_requested_has_neither_fragment_nor_userinfo() -> None:
    assert fetch_url("http://ana:p%40w@site.test:81/@a?b@c#d@e") == "http://site.test:81/@a?b@c"
    assert fetch_url("http://site.test/?#x") == "http://site.test/?"
    assert fetch_url("https://site.test./a") == "https://site.test./a"


RULES = st.builds(
    CanonicalRules,
    sort_query=st.booleans(),
    tracking=st.sampled_from([(), DEFAULT_RULES.tracking, ("a*",), ("*",)]),
    session=st.sampled_from([(), DEFAULT_RULES.session, ("x",)]),
)


@given(HREFS, RULES)
@example("http://site.test/a/..;jsessionid=1/..;jsessionid=2/b", DEFAULT_RULES)
@example("http://site.test/%2%2%44", DEFAULT_RULES)
def test_canonicalisation_is_idempotent_and_yields_a_serialised_url(
    href: str, rules: CanonicalRules
) -> None:
    canonical = canonicalize(href, rules)
    assert canonicalize(canonical, rules) == canonical
    assert parse_http(canonical) == canonical
    assert canonical.isascii()
    assert "#" not in canonical


@given(HREFS)
def test_the_shortcut_for_clean_urls_never_skips_needed_work(href: str) -> None:
    canonical = Canonicaliser()
    assert canonical(href) == canonical._rewrite(href)


@given(HREFS)
def test_the_form_of_what_is_requested_is_the_form_of_the_link(href: str) -> None:
    assert canonicalize(fetch_url(href)) == canonicalize(href)


@given(st.dictionaries(st.from_regex(r"[a-z_-]{1,4}", fullmatch=True), st.integers(), max_size=6))
def test_with_sorting_the_order_of_distinct_parameters_does_not_matter(
    params: dict[str, int],
) -> None:
    rules = CanonicalRules(sort_query=True)
    spelled = [f"{name}={value}" for name, value in params.items()]
    forwards = f"{SITE}/?{'&'.join(spelled)}"
    backwards = f"{SITE}/?{'&'.join(reversed(spelled))}"
    assert canonicalize(forwards, rules) == canonicalize(backwards, rules)
