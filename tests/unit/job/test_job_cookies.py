"""Which cookies of a cookies.txt go to a URL."""

import pytest

from skitter.errors import ConfigError
from skitter.job.cookies import parse_cookies

FILE = """\
# Netscape HTTP Cookie File

.a.test\tTRUE\t/\tFALSE\t0\tall\t1
a.test\tFALSE\t/\tFALSE\t0\thost\t2\r
#HttpOnly_www.a.test\tFALSE\t/shop\tFALSE\t0\tshop\t3
www.a.test\tFALSE\t/\tTRUE\t0\ttls\t4
www.a.test\tFALSE\t/\tFALSE\t2000\tlate\t5
www.a.test\tFALSE\t/\tFALSE\t500\tover\t6
www.a.test\tFALSE\t/\tFALSE\t-1\tsession\t
# b.test\tTRUE\t/\tFALSE\t0\tcomment\t7
"""


@pytest.mark.parametrize(
    ("url", "header"),
    [
        ("http://a.test/", "all=1; host=2"),
        ("http://A.TEST:8080", "all=1; host=2"),
        ("http://a.test./x", "all=1; host=2"),
        ("http://www.a.test/", "all=1; late=5; session="),
        ("https://www.a.test/", "all=1; tls=4; late=5; session="),
        ("http://www.a.test/shop", "shop=3; all=1; late=5; session="),
        ("http://www.a.test/shop/x?y#z", "shop=3; all=1; late=5; session="),
        ("http://www.a.test/shopping", "all=1; late=5; session="),
        ("http://x.www.a.test/", "all=1"),
        ("http://ba.test/", ""),
        ("http://b.test/", ""),
    ],
)
def test_domain_path_tls_and_expiry_decide(url: str, header: str) -> None:
    assert parse_cookies(FILE, "c.txt").header(url, 1_000) == header


@pytest.mark.parametrize(
    "line",
    [
        "a.test\tFALSE\t/\tFALSE\t0\tsid",
        "a.test FALSE / FALSE 0 sid hunter2",
        "a.test\tFALSE\t/\tFALSE\tsoon\tsid\thunter2",
        "a.test\tFALSE\t/\tFALSE\tinf\tsid\thunter2",
        "a.test\tFALSE\t/\tFALSE\t0\tsid\thunter2; b=1",
        "a.test\tFALSE\t/\tFALSE\t0\tsid\thunter2\x01",
    ],
)
def test_a_line_that_is_none_is_named_by_its_number(line: str) -> None:
    with pytest.raises(ConfigError, match=r"c\.txt: line 2: wanted") as caught:
        parse_cookies(f"# one\n{line}\n", "c.txt")
    assert "hunter2" not in str(caught.value)
