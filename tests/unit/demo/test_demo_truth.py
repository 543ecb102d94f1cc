import pytest

from skitter.demo.build import demo_web
from skitter.demo.expected import Expected
from skitter.demo.model import Target
from skitter.demo.truth import Plan, ground_truth
from skitter.types import Outcome

WEB = demo_web().at_port(8123)
TRUTH = ground_truth(WEB)
NEVER = TRUTH.never()


def lab(path: str) -> Target:
    return Target("lab", path)


def expected(path: str) -> Expected:
    return TRUTH.expected[lab(path)]


def test_the_sets_do_not_overlap() -> None:
    assert not TRUTH.fetched_once & NEVER
    assert TRUTH.pages <= {WEB.url(target) for target in TRUTH.expected}


@pytest.mark.parametrize(
    "path",
    ["/private/", "/private/diary", "/private/cellar", "/letters/one.secret",
     "/private/reached-by-redirect", "/rules/behind-private", "/rules/behind-nofollow",
     "/rules/behind-none", "/rules/behind-header", "/rules/behind-rel", "/rules/behind-ugc",
     "/redirect/endless-25"],
)  # fmt: skip
def test_what_rules_close_is_never_asked_for(path: str) -> None:
    assert WEB.page(lab(path)).answer.status in {200, 302}
    assert WEB.url(lab(path)) in NEVER


@pytest.mark.parametrize(
    "path",
    ["/private/open/hours", "/letters/one.secret.html", "/rules/behind-noindex", "/refresh/end",
     "/base/shelf/book", "/frames/left", "/iframe/inside", "/redirect/one-end",
     "/redirect/beyond-chain", "/untidy/behind-tags", "/spelling/one-page"],
)  # fmt: skip
def test_what_is_open_is_asked_for_once(path: str) -> None:
    assert WEB.url(lab(path)) in TRUTH.fetched_once


def test_a_forbidden_link_is_refused_without_a_request() -> None:
    assert expected("/private/").outcomes == {Outcome.REFUSED}
    assert expected("/private/").most == 0


def test_a_page_behind_redirects_is_kept_under_its_own_address() -> None:
    chain = expected("/redirect/chain-1")
    assert chain.outcomes == {Outcome.OK}
    assert [hop.path for hop in chain.chain] == [
        "/redirect/chain-1", "/redirect/chain-2", "/redirect/chain-3", "/redirect/chain-4",
        "/redirect/chain-end",
    ]  # fmt: skip
    assert chain.end == lab("/redirect/chain-end")
    assert chain.title == "Reached by four redirects"


def test_a_redirect_to_a_linked_page_may_turn_out_a_duplicate() -> None:
    assert expected("/redirect/popular").outcomes == {Outcome.OK, Outcome.DUPLICATE}
    assert expected("/redirect/popular-end").outcomes == {Outcome.OK}


@pytest.mark.parametrize("path", ["/redirect/loop-a", "/redirect/self", "/redirect/endless-0"])
def test_redirects_without_an_end_fail(path: str) -> None:
    assert expected(path).outcomes == {Outcome.FAILED}


@pytest.mark.parametrize("path", ["/redirect/outside", "/redirect/private"])
def test_redirects_to_where_a_crawl_may_not_go_are_refused(path: str) -> None:
    assert expected(path).outcomes == {Outcome.REFUSED}
    assert expected(path).chain == (lab(path),)


def test_as_many_hops_are_followed_as_the_plan_says() -> None:
    short = ground_truth(WEB, Plan(redirects=3)).expected
    asked = [n for n in range(26) if short.get(lab(f"/redirect/endless-{n}"))]
    assert asked == [0, 1, 2, 3, 4]
    assert short[lab("/redirect/endless-3")].least == 1
    assert short[lab("/redirect/endless-4")].least == 0
    long = ground_truth(WEB, Plan(redirects=30)).expected
    assert long[lab("/redirect/endless-0")].outcomes == {Outcome.OK}


def test_a_page_that_stays_broken_is_tried_as_often_as_the_plan_says() -> None:
    patient = ground_truth(WEB, Plan(tries=7)).expected[lab("/broken/500")]
    assert (patient.least, patient.most) == (7, 7)
    assert patient.outcomes == {Outcome.HTTP_ERROR}
    assert expected("/flaky/500").least == 2


def test_equal_pages_know_each_other() -> None:
    twins = {lab(f"/twin/{name}") for name in ("first", "second", "third")}
    assert all(TRUTH.expected[twin].twins == twins for twin in twins)


def test_a_crawl_of_one_host_stays_there() -> None:
    truth = ground_truth(WEB, Plan(entries=(Target("docs", "/"),), scope="host"))
    assert {target.site for target in truth.expected} == {"docs"}
    assert WEB.url(Target("docs", "/stable/annex/")) not in truth.pages


def test_a_crawl_without_bounds_meets_the_partner_and_the_host_that_is_gone() -> None:
    truth = ground_truth(WEB, Plan(scope="any")).expected
    assert truth[Target("partner", "/offers")].outcomes == {Outcome.OK}
    assert truth[Target("nowhere", "/")].outcomes == {Outcome.FAILED}
    assert truth[Target("nowhere", "/")].most == 0
    assert truth[lab("/redirect/outside")].end == Target("partner", "/landing")


def test_encodings_that_read_alike_are_all_right_where_none_is_declared() -> None:
    assert expected("/charset/gbk-undeclared").encodings == {"gbk", "gb18030", "gb2312"}
    assert expected("/charset/gbk-meta").encodings == {"gbk"}


def test_white_space_in_a_title_is_folded() -> None:
    assert expected("/untidy/title").title == "Fish & chips <and> other stories"
