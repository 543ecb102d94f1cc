"""Whether a URL belongs to the crawl; the quick answer and the one in words agree."""

from typing import Any

import pytest
from crawl_rig import HOME, SITE, make_job
from hypothesis import given
from hypothesis import strategies as st

from skitter.crawl.judge import Judge
from skitter.politeness.decision import Code
from skitter.types import HostKey
from skitter.url.host import host_key
from skitter.url.scope import Scope


def make_judge(**fields: Any) -> Judge:
    job = make_job(**fields)
    return Judge(job, Scope(job.scope, [HOME]))


@pytest.mark.parametrize(
    ("url", "code"),
    [
        (f"{SITE}/a", None),
        (f"{SITE}/a.html", None),
        ("https://site.test/a", None),
        ("http://other.test/a", Code.SCOPE),
        ("http://site.test:81/a", Code.SCOPE),
        (f"{SITE}/a.PNG", Code.SUFFIX),
        (f"{SITE}/a.zip?version=2", Code.SUFFIX),
        (f"{SITE}/calendar/2020", Code.EXCLUDE),
    ],
)
def test_scope_suffix_and_patterns_decide(url: str, code: Code | None) -> None:
    judge = make_judge(exclude=["/calendar/"])
    assert judge.refusal(url, host_key(url)) is code
    decision = judge.explain(url, host_key(url))
    assert decision.allowed == (code is None)
    assert decision.code is (code or Code.ALLOWED)


@pytest.mark.parametrize(
    ("fields", "url", "words"),
    [
        ({}, "http://other.test/", ("other.test", "host scope", "site.test")),
        ({}, f"{SITE}/film.mp4", (".mp4", "video")),
        ({"exclude": ["/a+"]}, f"{SITE}/aaa", ("/a+",)),
        ({"include": ["/only/"]}, f"{SITE}/other", ("include",)),
    ],
)
def test_a_refusal_says_what_refused_it(
    fields: dict[str, Any], url: str, words: tuple[str, ...]
) -> None:
    sentence = make_judge(**fields).explain(url, host_key(url)).sentence
    assert all(word in sentence for word in words)


def test_only_what_is_included_and_not_excluded_is_followed() -> None:
    judge = make_judge(include=["/blog/"], exclude=["print"])
    host = HostKey("site.test")
    assert judge.refusal(f"{SITE}/blog/1", host) is None
    assert judge.refusal(f"{SITE}/shop/1", host) is Code.EXCLUDE
    assert judge.refusal(f"{SITE}/blog/print", host) is Code.EXCLUDE


def test_the_suffixes_of_the_job_replace_the_built_in_ones() -> None:
    judge = make_judge(http={"skip_suffixes": ["html"]})
    assert judge.refusal(f"{SITE}/a.html", HostKey("site.test")) is Code.SUFFIX
    assert judge.refusal(f"{SITE}/a.png", HostKey("site.test")) is None


@pytest.mark.parametrize(("depth", "follows"), [(None, [0, 1, 2, 99]), (0, []), (2, [0, 1])])
def test_links_are_followed_down_to_the_depth_of_the_job(
    depth: int | None, follows: list[int]
) -> None:
    judge = make_judge(depth=depth)
    assert [at for at in (0, 1, 2, 99) if judge.follows_from(at)] == follows


def test_urls_with_a_query_have_a_depth_of_their_own() -> None:
    judge, host = make_judge(depth=9, dynamic_depth=1), HostKey("site.test")
    assert judge.refusal(f"{SITE}/a?b=c", host, 1) is None
    assert judge.refusal(f"{SITE}/a?b=c", host, 2) is Code.DEPTH
    assert judge.refusal(f"{SITE}/a", host, 2) is None


def test_with_sitemaps_alone_no_link_is_followed() -> None:
    assert not make_judge(sitemaps="only").follows_from(0)


def test_a_scope_that_grows_is_seen_at_once() -> None:
    judge = make_judge()
    url, host = "http://other.test/", HostKey("other.test")
    assert judge.refusal(url, host) is Code.SCOPE
    judge.scope.add(url)
    assert judge.refusal(url, host) is None


HOSTS = st.sampled_from(["site.test", "www.site.test", "other.test", "site.test:81"])
PATHS = st.sampled_from(["/", "/a.png", "/secret", "/only/x", "/only/secret.png"])


SCOPES = st.sampled_from(["host", "domain", "any"])
INCLUDES = st.sampled_from([[], ["/only/"]])
EXCLUDES = st.sampled_from([[], ["secret"]])


@given(HOSTS, PATHS, SCOPES, INCLUDES, EXCLUDES)
def test_the_quick_answer_and_the_one_in_words_agree(
    host: str, path: str, scope: str, include: list[str], exclude: list[str]
) -> None:
    judge = make_judge(scope=scope, include=include, exclude=exclude)
    url = f"http://{host}{path}"
    code = judge.refusal(url, host_key(url))
    decision = judge.explain(url, host_key(url))
    assert decision.allowed == (code is None)
    assert decision.allowed or (decision.code is code and decision.sentence)
