import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.fetch.redirects import BadRedirect, Follow, NotRedirect, next_hop
from skitter.testing.fake_fetcher import page

URL = "http://a.test/dir/page?x=1"


def hop(location: str | None, status: int = 302) -> Follow | BadRedirect | NotRedirect:
    headers = {} if location is None else {"Location": location}
    return next_hop(URL, page(URL, status=status, headers=headers))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirecting_statuses_are_followed(status: int) -> None:
    assert hop("/there", status) == Follow("http://a.test/there")


@pytest.mark.parametrize("status", [200, 201, 204, 300, 304, 305, 400, 404, 500])
def test_other_statuses_are_answers_whatever_their_location(status: int) -> None:
    assert hop("/there", status) == NotRedirect()


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("https://b.test/", "https://b.test/"),
        ("HTTP://B.test:80/a/../c", "http://b.test/c"),
        ("//b.test/x", "http://b.test/x"),
        ("next", "http://a.test/dir/next"),
        ("?y=2", "http://a.test/dir/page?y=2"),
        ("../up", "http://a.test/up"),
        (" /ok\\space x ", "http://a.test/ok/space%20x"),
        ("/中文?q=é", "http://a.test/%E4%B8%AD%E6%96%87?q=%C3%A9"),
        ("/gbk-\udcd6\udcd0", "http://a.test/gbk-%D6%D0"),
        ("/already%20encoded%E4", "http://a.test/already%20encoded%E4"),
    ],
)
def test_locations_are_resolved_as_browsers_do(location: str, target: str) -> None:
    assert hop(location) == Follow(target)


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        (None, "without a Location"),
        ("", "empty Location"),
        ("  ", "empty Location"),
        ("file:///etc/passwd", "not an http or https URL"),
        ("javascript:alert(1)", "not an http or https URL"),
        ("data:text/html,x", "not an http or https URL"),
        ("http://[bad/", "not an http or https URL"),
        ("http://a b/", "not an http or https URL"),
    ],
)
def test_redirects_to_nowhere_are_told_with_the_reason(location: str | None, reason: str) -> None:
    result = hop(location)
    assert isinstance(result, BadRedirect)
    assert reason in result.reason


def test_a_reason_stays_short() -> None:
    result = hop("mailto:" + "x" * 50_000)
    assert isinstance(result, BadRedirect)
    assert len(result.reason) < 250


@given(st.text(max_size=80))
def test_any_location_is_followed_to_http_or_refused(location: str) -> None:
    result = hop(location)
    assert isinstance(result, BadRedirect) or (
        isinstance(result, Follow) and result.url.startswith(("http://", "https://"))
    )
    if isinstance(result, Follow):
        assert result.url.isascii()
