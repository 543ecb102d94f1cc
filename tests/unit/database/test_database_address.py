"""The URL of a database: what it says, what is refused, and that no message shows a password."""

import pytest

from skitter.database.address import DatabaseAddress, without_secrets
from skitter.errors import ConfigError


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ann:word@host:5433/cold", "postgresql://ann@host:5433/cold"),
        ("postgres://host/cold", "postgresql://host/cold"),
        (" POSTGRESQL://host/cold\n", "postgresql://host/cold"),
        ("postgresql://ann%40home:a%2Fb@host/cold", "postgresql://ann@home@host/cold"),
        ("postgresql://ann:word@[::1]:5433/cold", "postgresql://ann@[::1]:5433/cold"),
        ("postgresql://a.test:1,b.test/cold", "postgresql://a.test:1,b.test/cold"),
        ("postgresql://ann:w:o?rd@host/cold", None),
        (
            "postgresql:///cold?host=/run/postgresql&user=ann&password=word",
            "postgresql://ann@/run/postgresql/cold",
        ),
        ("postgresql://host/?dbname=cold&sslmode=require", "postgresql://host/cold"),
        ("postgresql:///cold?hostaddr=10.0.0.1&port=7", "postgresql://10.0.0.1:7/cold"),
    ],
)
def test_a_url_is_shown_without_password_and_options(url: str, shown: str | None) -> None:
    if shown is None:
        with pytest.raises(ConfigError):
            DatabaseAddress.parse(url)
        return
    address = DatabaseAddress.parse(url)
    assert address.shown == shown
    assert "word" not in repr(address)
    assert address.url.startswith("postgresql://")


def test_several_hosts_are_noticed() -> None:
    assert DatabaseAddress.parse("postgresql://a,b/cold").several
    assert DatabaseAddress.parse("postgresql:///cold?host=a,b").several
    assert not DatabaseAddress.parse("postgresql://a/cold").several


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("", "not a URL of PostgreSQL"),
        ("host=h password=secret dbname=cold", "not a URL of PostgreSQL"),
        ("user:secret@host/cold", "not a URL of PostgreSQL"),
        ("mysql://ann:secret@host/cold", "not a URL of PostgreSQL"),
        ("postgresql:host/cold", "not a URL of PostgreSQL"),
        ("postgresql://ann:sec ret@host/cold", "write a space as %20"),
        ("postgresql://ann:secret%@host/cold", "bad %"),
        ("postgresql://ann:secret%zz@host/cold", "bad %"),
        ("postgresql://ann:secret%00@host/cold", "bad %"),
        ("postgresql://ann:sec@ret@host/cold", "write @ as %40"),
        ("postgresql://ann:sec/ret@host/cold", "write @ as %40"),
        ("postgresql://ann:12/ret@host/cold", "write @ as %40"),
        ("postgresql://ann:sec?ret@host/cold", "write @ as %40"),
        ("postgresql://host/cold?password=sec@ret", "write @ as %40"),
        ("postgresql://ann:secret/cold", "port is not a number"),
        ("postgresql://ann:secret@host:99999/cold", "port is not a number"),
        ("postgresql://ann:secret@host:0/cold", "port is not a number"),
        ("postgresql://ann:secret@a:1,b:x/cold", "port is not a number"),
        ("postgresql://ann:secret@host/cold?port=x", "port is not a number"),
        ("postgresql://ann:secret@::1/cold", "brackets"),
        ("postgresql://ann:secret@[::1/cold", "brackets"),
        ("postgresql://ann:secret@ho$t/cold", "host is none"),
        ("postgresql://ann:secret@host", "names no database"),
        ("postgresql://ann:secret@host/", "names no database"),
        ("postgresql://ann:secret@host/cold?secret", "option has no value"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(url: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why) as raised:
        DatabaseAddress.parse(url)
    line = str(raised.value)
    assert line.startswith("database")
    assert "\n" not in line
    assert "ret" not in line.replace("written", "")


def test_the_unambiguous_part_of_a_broken_url_is_shown() -> None:
    assert without_secrets("mysql://ann:word@host/x?y=z") == "mysql://ann@host/x"
    assert without_secrets("mysql://ann:word@host@b/x") == "mysql://***"
    assert without_secrets("word") == ""
