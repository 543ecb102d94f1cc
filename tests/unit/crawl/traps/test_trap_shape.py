import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skitter.crawl.traps.limits import TrapLimits, comes_round, too_far
from skitter.crawl.traps.shape import in_order, is_far, shape_of, template_of

HOST = "https://a.test"


@pytest.mark.parametrize(
    ("url", "template"),
    [
        ("/", "/"),
        ("/product/123", "/product/{n}"),
        ("/page-17.html", "/page-{n}.html"),
        ("/2024/05/06/a-title-of-some-words-17.html", "/{n}/{n}/{n}/{slug}"),
        ("/calendar/may-2024/", "/calendar/{m}-{n}/"),
        ("/s/3f9a8c7b1122334455667788/beds/", "/s/{id}/beds/"),
        ("/item/550e8400-e29b-41d4-a716-446655440000", "/item/{id}"),
        ("/session/48213/x", "/session/{id}/x"),
        ("/(S(lit3py55t21z5v55vlm25s55))/x", "/{id}/x"),
        ("/PHPSESSID-ab12cd/x", "/{id}/x"),
        ("/a;jsessionid=12AB", "/a;jsessionid={id}"),
        ("/a/b/a/b/a/", "/a/b/…"),
        ("/list?sort=up&page=3&sort=down", "/list?page&sort"),
        ("/list?f[0]=1&f[1]=2", "/list?f[{n}]"),
        ("/documentation/configuration", "/documentation/configuration"),
        ("/v2.10.3/api/os.path.html", "/v{n}.{n}.{n}/api/os.path.html"),
    ],
)
def test_a_template_is_what_urls_of_one_kind_share(url: str, template: str) -> None:
    assert template_of(HOST + url) == HOST + template


@pytest.mark.parametrize(
    ("url", "slot"),
    [
        ("/s/3f9a8c7b11223344/about", "/s/{id}"),
        ("/about?sid=12", "?sid={id}"),
        ("/login?return=%2Fabout", "?return={id}"),
        ("/about?v=3f9a8c7b11223344", "?v={id}"),
        ("/product/123456/about", ""),
        ("/about?page=12", ""),
    ],
)
def test_a_random_id_has_a_place(url: str, slot: str) -> None:
    assert shape_of(HOST + url).slot == slot


def test_urls_that_differ_by_their_id_have_one_skeleton() -> None:
    one = shape_of(f"{HOST}/s/3f9a8c7b11223344/about?b=1")
    other = shape_of(f"{HOST}/s/aa98c7b112233f94/about?b=1")
    assert one.skeleton == other.skeleton != ""
    assert shape_of(f"{HOST}/s/aa98c7b112233f94/about?b=2").skeleton != one.skeleton


@pytest.mark.parametrize(
    ("url", "date"),
    [
        ("/cal/2024/05/", (2024, 5, 0)),
        ("/cal/2024-05-17", (2024, 5, 17)),
        ("/20240517/x", (2024, 5, 17)),
        ("/events?month=5&year=2031", (2031, 0, 0)),
        ("/events?date=2031-05-01", (2031, 5, 1)),
        ("/calendar/2031", (2031, 0, 0)),
        ("/product/2024", None),
        ("/product?id=2024", None),
        ("/p/64e864af10290730", None),
        ("/about", None),
    ],
)
def test_a_date_is_one_only_where_the_url_says_so(
    url: str, date: tuple[int, int, int] | None
) -> None:
    assert shape_of(HOST + url).date == date


def test_a_year_ahead_is_near_and_two_are_far() -> None:
    now_ms = 1_780_000_000_000
    assert not is_far((2027, 5, 0), now_ms)
    assert is_far((2028, 5, 0), now_ms)
    assert not is_far((1995, 1, 1), now_ms)
    assert is_far((1890, 1, 1), now_ms)


def test_the_order_of_parameters_is_put_right() -> None:
    one, other = shape_of(f"{HOST}/x?b=1&a=2&b=1"), shape_of(f"{HOST}/x?a=2&b=1")
    assert in_order(one) == in_order(other)


def test_two_directories_once_again_are_a_round() -> None:
    assert comes_round(shape_of(f"{HOST}/w/a/b/a/b/"))
    assert not comes_round(shape_of(f"{HOST}/w/a/b/a/"))
    assert not comes_round(shape_of(f"{HOST}/en/a/en/b/"))


_PATHS = st.text(st.sampled_from("ab1/?&=;-_.%()"), max_size=60)


@settings(max_examples=200)
@given(_PATHS)
def test_any_url_has_a_shape_and_its_template_is_stable(path: str) -> None:
    url = f"{HOST}/{path}"
    shape = shape_of(url)
    assert shape.template == shape_of(url).template
    assert shape.template.startswith(HOST)
    assert shape.origin == HOST
    too_far(shape, 1, TrapLimits())


@settings(max_examples=50)
@given(st.permutations(["a=1", "b=2", "c=3", "d=4"]))
def test_parameters_in_any_order_are_of_one_template(pairs: list[str]) -> None:
    shape = shape_of(f"{HOST}/x?{'&'.join(pairs)}")
    assert shape.template == f"{HOST}/x?a&b&c&d"
    assert in_order(shape) == f"{HOST}/x?a=1&b=2&c=3&d=4"
