import pytest

from skitter.fetch.browser.rules import (
    MOST_BYTES,
    MOST_EACH,
    Allowance,
    Verdict,
    closed_to_others,
    empty_type,
    judge,
    may_be_read,
    passed_on,
    told,
)

URL = "https://site.test/x"


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [
        ("script", Verdict.FETCH),
        ("xhr", Verdict.FETCH),
        ("fetch", Verdict.FETCH),
        ("stylesheet", Verdict.EMPTY),
        ("document", Verdict.EMPTY),
        ("image", Verdict.REFUSE),
        ("media", Verdict.REFUSE),
        ("font", Verdict.REFUSE),
        ("ping", Verdict.REFUSE),
        ("eventsource", Verdict.REFUSE),
        ("websocket", Verdict.REFUSE),
        ("manifest", Verdict.REFUSE),
        ("other", Verdict.REFUSE),
        ("something new", Verdict.REFUSE),
    ],
)
def test_only_scripts_and_data_are_asked_for(kind: str, verdict: Verdict) -> None:
    assert judge(kind, "GET", URL, moves_page=False, served=True) is verdict


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "get"])
def test_nothing_is_sent_to_anybody(method: str) -> None:
    assert judge("fetch", method, URL, moves_page=False, served=True) is Verdict.REFUSE


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://site.test/", "chrome://version"])
def test_other_schemes_are_refused(url: str) -> None:
    assert judge("fetch", "GET", url, moves_page=False, served=True) is Verdict.REFUSE


def test_the_page_is_given_once_and_then_stays() -> None:
    assert judge("document", "GET", URL, moves_page=True, served=False) is Verdict.SERVE
    assert judge("document", "GET", URL, moves_page=True, served=True) is Verdict.STAY


def test_what_is_not_fetched_is_empty_and_of_its_type() -> None:
    assert empty_type("stylesheet") == "text/css"
    assert empty_type("document") == "text/html"


def test_a_page_has_so_many_requests() -> None:
    allowance = Allowance(requests=2, most_bytes=100)
    assert [allowance.take() for _ in range(3)] == [100, 100, 0]
    assert allowance.asked == 2


def test_a_page_has_so_many_bytes() -> None:
    allowance = Allowance(requests=9, most_bytes=100)
    assert allowance.take() == 100
    assert allowance.spend(60)
    assert allowance.take() == 40
    assert not allowance.spend(41)
    assert allowance.take() == 0


def test_what_is_under_way_together_shares_the_rest() -> None:
    allowance = Allowance(requests=9, most_bytes=100)
    assert [allowance.take(), allowance.take()] == [100, 100]
    assert [allowance.spend(60), allowance.spend(60)] == [True, False]


def test_one_thing_has_so_many_bytes() -> None:
    assert Allowance().take() == MOST_EACH < MOST_BYTES


def test_headers_that_name_the_browser_are_not_sent() -> None:
    said = {
        "accept": "application/json",
        "authorization": "Bearer of-the-page",
        "cookie": "a=b",
        "origin": "https://site.test",
        "sec-ch-ua": "Chromium",
        "user-agent": "Mozilla",
        "x-requested-with": "XMLHttpRequest",
    }
    kept = ("accept", "authorization", "origin", "x-requested-with")
    assert passed_on(said) == {name: said[name] for name in kept}


def test_a_page_is_told_nothing_of_cookies_and_codings() -> None:
    said = {
        "access-control-allow-origin": "*",
        "content-encoding": "gzip",
        "content-length": "3",
        "content-type": "text/javascript",
        "set-cookie": "a=b",
        "x-total": "7",
    }
    kept = ("access-control-allow-origin", "content-type", "x-total")
    assert told(said) == {name: said[name] for name in kept}


def test_an_answer_that_says_nothing_is_for_its_own_origin() -> None:
    readers = "access-control-allow-origin"
    assert closed_to_others({}, URL) == {readers: "https://site.test"}
    assert closed_to_others({readers: "*"}, URL) == {readers: "*"}


@pytest.mark.parametrize(
    ("said", "reads"),
    [
        ({}, False),
        ({"access-control-allow-origin": "*"}, True),
        ({"access-control-allow-origin": "https://site.test"}, True),
        ({"access-control-allow-origin": "https://other.test"}, False),
        ({"content-type": "text/javascript"}, False),
    ],
)
def test_data_of_others_is_for_those_whom_they_name(said: dict[str, str], *, reads: bool) -> None:
    assert may_be_read(said, "https://site.test", is_script=False) is reads


@pytest.mark.parametrize(
    ("kind", "reads"),
    [("application/javascript; charset=utf-8", True), ("text/html", False), ("", False)],
)
def test_scripts_of_others_have_to_be_scripts(kind: str, *, reads: bool) -> None:
    assert may_be_read({"content-type": kind}, "https://site.test", is_script=True) is reads
