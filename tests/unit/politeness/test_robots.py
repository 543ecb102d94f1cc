import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.politeness.robots import AgentRules, RobotsDecision, RobotsRules, product_token
from skitter.politeness.robots_pattern import path_of

SITE = "https://example.com"


def _allowed(robots: str | bytes, path: str, agent: str = "Skitter") -> bool:
    return RobotsRules.parse(robots).decide(agent, SITE + path).allowed


def reference(lines: list[tuple[str, str]], agent: str, path: str) -> bool:
    """Answer by one walk over the lines, keeping the best weights, with regular expressions."""
    best = {("own", "allow"): 0, ("own", "disallow"): 0, ("*", "allow"): 0, ("*", "disallow"): 0}
    own = everyone = after_rule = ever = False
    for field, value in lines:
        if field == "user-agent":
            if after_rule:
                own = everyone = after_rule = False
            if value == "*" or value.startswith("* "):
                everyone = True
            elif re.split(r"[^A-Za-z_-]", value)[0].lower() == agent.lower():
                own = ever = True
        elif field in {"allow", "disallow"} and (own or everyone):
            after_rule = True
            end = r"\Z" if value.endswith("$") else ""
            body = value[:-1] if end else value
            glob = ".*".join(re.escape(piece) for piece in body.split("*")) + end
            if re.match(glob, path, re.DOTALL):
                key = ("own" if own else "*", field)
                best[key] = max(best[key], len(value))
    who = "own" if ever else "*"
    return best[who, "allow"] >= best[who, "disallow"]


AGENTS = st.sampled_from(["*", "* all", "foo", "FOO/2.1", "foo bar", "foobar", "bar", "b", ""])
VALUES = st.text("/ab*$", max_size=4)
LINES = st.lists(
    st.one_of(
        st.tuples(st.just("user-agent"), AGENTS),
        st.tuples(st.sampled_from(["allow", "disallow"]), VALUES),
        st.tuples(st.sampled_from(["sitemap", "crawl-delay", "host"]), st.just("1")),
    ),
    max_size=12,
)


@given(LINES, st.sampled_from(["foo", "bar", "qux"]), st.text("/ab", max_size=5))
def test_groups_and_rules_decide_as_the_reference_does(
    lines: list[tuple[str, str]], agent: str, rest: str
) -> None:
    robots = "\n".join(f"{field}: {value}" for field, value in lines)
    assert _allowed(robots, "/" + rest, agent) == reference(lines, agent, "/" + rest)


@given(st.binary(max_size=300), st.text(max_size=20), st.text(max_size=30))
def test_no_file_agent_or_url_is_an_error(body: bytes, agent: str, url: str) -> None:
    rules = RobotsRules.parse(b"user-agent: *\ndisallow: " + body)
    assert rules.decide(agent, url).allowed in {True, False}
    rules.crawl_delay(agent)


def test_the_decision_names_the_line_and_the_group() -> None:
    rules = RobotsRules.parse("User-agent: Skitter\nAllow: /a\n\nDisallow: /a/b*c$ # secret\n")
    assert rules.decide("skitter/1.0", f"{SITE}/a/bxc") == RobotsDecision(
        allowed=False, rule="Disallow: /a/b*c$", line=4, group="skitter"
    )
    assert rules.decide("skitter", f"{SITE}/a/b") == RobotsDecision(
        allowed=True, rule="Allow: /a", line=2, group="skitter"
    )
    assert rules.decide("other", f"{SITE}/a/bxc") == RobotsDecision(allowed=True)


def test_an_empty_file_allows_everything() -> None:
    assert _allowed("", "/")
    assert _allowed(b"\x00\xff\xfe", "/x")


def test_rules_before_any_agent_do_not_count() -> None:
    assert _allowed("Disallow: /\nUser-agent: other\nDisallow: /\n", "/")


def test_our_own_group_replaces_the_one_for_everyone_even_when_empty() -> None:
    robots = "User-agent: *\nDisallow: /\n\nUser-agent: skitter\nDisallow:\n"
    assert _allowed(robots, "/x")
    assert not _allowed(robots, "/x", "other")


def test_groups_of_one_agent_are_merged() -> None:
    robots = (
        "User-agent: skitter\nDisallow: /a\n\nUser-agent: x\nDisallow: /b\n\n"
        "User-agent: SKITTER\nDisallow: /c\n"
    )
    assert [_allowed(robots, path) for path in ("/a", "/b", "/c")] == [False, True, False]


def test_only_rules_end_a_list_of_agents() -> None:
    robots = "User-agent: skitter\nSitemap: /s\nHost: h\n\nUser-agent: *\nDisallow: /\n"
    assert not _allowed(robots, "/x")


def test_what_follows_a_product_token_in_the_file_does_not_count() -> None:
    for value in ("skitter", "Skitter/2.0", "skitter bot", "skitter*", "SKITTER"):
        assert not _allowed(f"User-agent: {value}\nDisallow: /", "/x"), value
    for value in ("skit", "skitterbot", "a skitter", "*skitter"):
        assert _allowed(f"User-agent: {value}\nDisallow: /", "/x"), value


def test_a_name_with_digits_is_obeyed_where_the_file_spells_it_out() -> None:
    robots = "User-agent: web2crawl/1.0\nDisallow: /\n"
    assert not _allowed(robots, "/x", "Web2Crawl/3.1 (+https://example.com)")
    assert _allowed(robots, "/x", "web3crawl")


@pytest.mark.parametrize(
    ("agent", "token"),
    [
        ("Skitter", "Skitter"),
        ("Skitter/0.1 (+https://example.com/bot)", "Skitter"),
        ("Skitter (+https://example.com)", "Skitter"),
        ("Mozilla/5.0 (compatible; Skitter/1.0)", "Mozilla"),
        ("Two Words", "Two Words"),
        ("  Skitter ", "Skitter"),
        ("(only a comment)", ""),
        ("", ""),
    ],
)
def test_groups_are_named_after_the_first_product_of_the_agent(agent: str, token: str) -> None:
    assert product_token(agent) == token


def test_an_agent_without_a_name_is_everyone() -> None:
    robots = "User-agent: 360\nDisallow: /a\nUser-agent: *\nDisallow: /b\n"
    for agent in ("", "*"):
        assert _allowed(robots, "/a", agent)
        assert not _allowed(robots, "/b", agent)


def test_allow_wins_against_a_disallow_of_equal_length() -> None:
    assert _allowed("User-agent: *\nDisallow: /ab\nAllow: /ab\n", "/abc")
    assert _allowed("User-agent: *\nDisallow: /*b\nAllow: /ab\n", "/abc")
    assert not _allowed("User-agent: *\nDisallow: /abc\nAllow: /ab\n", "/abc")


def test_paths_are_compared_with_their_case_and_their_query() -> None:
    robots = "User-agent: *\nDisallow: /Private\nDisallow: /*?sort=\n"
    assert _allowed(robots, "/private")
    assert not _allowed(robots, "/Private/x")
    assert not _allowed(robots, "/list?sort=up")
    assert _allowed(robots, "/list?page=2")


def test_an_allowed_index_page_allows_its_directory() -> None:
    robots = "User-agent: *\nDisallow: /\nAllow: /docs/index.html\n"
    assert _allowed(robots, "/docs/")
    assert _allowed(robots, "/docs/index.html")
    assert not _allowed(robots, "/docs/other.html")


def test_robots_txt_itself_is_always_allowed() -> None:
    robots = "User-agent: *\nDisallow: /\n"
    assert _allowed(robots, "/robots.txt")
    assert not _allowed(robots, "/robots.txt.bak")


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("/ü/", "/%C3%BC/x"),
        ("/%c3%bc/", "/%C3%BC/x"),
        ("/%C3%BC/", "/ü/x"),
        ("/%7Ejoe", "/~joe"),
        ("/~joe", "/%7ejoe"),
        ("/admin", "/%61dmin/x"),
        ("/%61dmin", "/admin"),
        ("/a b", "/a%20b"),
        ("/a<b", "/a%3Cb"),
        ("/price%24", "/price$"),
        ("/x%2Ay", "/x*y"),
        ("/x$/y", "/x$/y"),
    ],
)
def test_a_disallow_holds_for_every_spelling_of_a_path(rule: str, path: str) -> None:
    assert not _allowed(f"User-agent: *\nDisallow: {rule}\n", path)


SPELLINGS = [("a", "%61"), ("~", "%7e"), ("%C3%BC", "ü"), ("%20", " "), ("%2F", "%2f"), ("/", "/")]


@given(st.lists(st.tuples(st.sampled_from(SPELLINGS), st.booleans(), st.booleans()), max_size=6))
def test_however_rule_and_path_are_spelt_a_forbidden_path_is_refused(
    parts: list[tuple[tuple[str, str], bool, bool]],
) -> None:
    rule = "/x" + "".join(pair[first] for pair, first, _ in parts)
    path = "/x" + "".join(pair[second] for pair, _, second in parts)
    robots = f"User-agent: *\nDisallow: {rule}/\nDisallow: {rule}$\n"
    assert not _allowed(robots, path)
    assert not _allowed(robots, path + "/y")
    assert _allowed(robots, path + "y")


def test_an_allow_holds_for_the_spelling_it_uses() -> None:
    robots = "User-agent: *\nDisallow: /\nAllow: /%61/\nAllow: /%c3%bc/\nAllow: /ö/\n"
    assert _allowed(robots, "/%61/x")
    assert not _allowed(robots, "/a/x")
    assert _allowed(robots, "/%C3%BC/x")
    assert _allowed(robots, "/%c3%bc/x")
    assert _allowed(robots, "/%C3%B6/x")


def test_an_encoded_slash_is_not_a_slash() -> None:
    robots = "User-agent: *\nDisallow: /a%2Fb\n"
    assert _allowed(robots, "/a/b")
    assert not _allowed(robots, "/a%2fb")


def test_bytes_of_any_encoding_survive() -> None:
    robots = b"User-agent: *\nDisallow: /\xd6\xd0\n"
    assert not _allowed(robots, "/%D6%D0")
    assert _allowed(robots, "/%D6")


def test_crawl_delay_is_that_of_the_group_that_applies() -> None:
    rules = RobotsRules.parse(
        "Crawl-delay: 9\nUser-agent: *\nCrawl-delay: 2.5\n\nUser-agent: own\nDisallow: /x\n"
    )
    assert rules.crawl_delay("other") == 2.5
    assert rules.crawl_delay("own") is None


def test_each_agent_of_a_list_of_delays_has_its_own() -> None:
    rules = RobotsRules.parse(
        "User-agent: a\nCrawl-delay: 5\nUser-agent: b\nUser-agent: c\nCrawl-delay: 10\n"
        "Disallow: /x\nCrawl-delay: 3\n"
    )
    assert [rules.crawl_delay(agent) for agent in "abcd"] == [5, 10, 10, None]


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "1e9", "5s", "", "1.2.3", "9" * 400])
def test_a_crawl_delay_that_is_no_plain_number_does_not_count(value: str) -> None:
    assert RobotsRules.parse(f"User-agent: *\nCrawl-delay: {value}").crawl_delay("a") is None


def test_sitemaps_are_listed_once_in_order_whatever_the_group() -> None:
    rules = RobotsRules.parse(
        "Sitemap: https://example.com/b.xml\nUser-agent: x\nSitemap:\n"
        "Disallow: /\nSITEMAP: /a.xml\nSitemap: https://example.com/b.xml\n"
    )
    assert rules.sitemaps == ("https://example.com/b.xml", "/a.xml")
    assert rules.for_agent("y").sitemaps == rules.sitemaps


def test_the_compiled_rules_answer_as_the_file_does() -> None:
    rules = RobotsRules.parse("User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /*.pdf$\n")
    ours = rules.for_agent("Skitter/1.0")
    for path in ("/", "/a", "/a/b", "/c.pdf", "/c.pdf?d"):
        assert ours.decide(path) == rules.decide("Skitter/1.0", SITE + path)
    again = AgentRules(ours.rules, group=ours.group)
    assert again.decide("/a/b") == ours.decide(path_of(f"{SITE}/a/b"))
