import pytest

from skitter.errors import ConfigError
from skitter.fetch.hosts import HostsTable

TABLE = """
# the demo web
127.0.0.1   localhost news.test   # two names
127.0.0.2   *.shop.test
127.0.0.3   *.deep.shop.test
::1         news.test
10.0.0.1    Bücher.test
"""


@pytest.mark.parametrize(
    ("host", "addresses"),
    [
        ("localhost", ("127.0.0.1",)),
        ("news.test", ("127.0.0.1", "::1")),
        ("NEWS.test.", ("127.0.0.1", "::1")),
        ("a.shop.test", ("127.0.0.2",)),
        ("a.b.shop.test", ("127.0.0.2",)),
        ("x.deep.shop.test", ("127.0.0.3",)),
        ("shop.test", ()),
        ("noshop.test", ()),
        ("xn--bcher-kva.test", ("10.0.0.1",)),
        ("elsewhere.test", ()),
    ],
)
def test_names_and_wildcards_are_found(host: str, addresses: tuple[str, ...]) -> None:
    assert HostsTable.parse(TABLE).get(host) == addresses


def test_a_bare_star_is_every_name_that_has_no_other_line() -> None:
    table = HostsTable.parse("127.0.0.1 *\n127.0.0.2 a.test")
    assert table.get("anything.example") == ("127.0.0.1",)
    assert table.get("a.test") == ("127.0.0.2",)


def test_an_empty_table_knows_nobody() -> None:
    assert HostsTable.parse("# nothing\n\n").get("localhost") == ()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("localhost 127.0.0.1", "'localhost' is not an IP address"),
        ("127.0.0.300 a.test", "'127.0.0.300' is not an IP address"),
        ("127.0.0.1", "127.0.0.1 has no name after it"),
        ("127.0.0.1 # a.test", "127.0.0.1 has no name after it"),
        ("127.0.0.1 *shop.test", "wildcard is written"),
        ("127.0.0.1 *.", "is not a host name"),
        ("127.0.0.1 a..test", "is not a host name"),
        ("127.0.0.1 a/b", "is not a host name"),
        ("127.0.0.1 http://a.test", "is not a host name"),
    ],
)
def test_a_bad_line_is_named_by_file_and_number(line: str, why: str) -> None:
    with pytest.raises(ConfigError, match="my-hosts:3: ") as caught:
        HostsTable.parse(f"# first\n127.0.0.1 ok.test\n{line}\n", source="my-hosts")
    assert why in str(caught.value)
