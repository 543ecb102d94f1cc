"""Where a master is."""

from pathlib import Path

import pytest

from skitter.errors import ConfigError
from skitter.frontier.remote.address import MasterAddress, ShortPath


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://master:8080", "http://master:8080"),
        ("http://master:8080/", "http://master:8080"),
        ("https://crawl.example.com/deep/", "https://crawl.example.com/deep"),
        ("http://[::1]:9", "http://[::1]:9"),
    ],
)
def test_a_url_is_asked_as_it_is_written(text: str, url: str) -> None:
    assert MasterAddress.parse(text) == MasterAddress(url, None, url)


@pytest.mark.parametrize("form", [str, Path])
def test_anything_else_is_the_path_of_a_socket(tmp_path: Path, form: type) -> None:
    path = tmp_path / "master.sock"
    address = MasterAddress.parse(form(path))
    assert (address.socket, address.shown) == (path, str(path))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ftp://master", "scheme 'ftp'"),
        ("redis://master", "scheme 'redis'"),
        ("http://", "no host"),
        ("http://master:0", "port 0"),
        ("http://master:99999", "(?i)port"),
        ("http://master/?x=1", "something behind its path"),
        ("http://[::1", "(?i)invalid"),
    ],
)
def test_an_address_that_cannot_be_is_named_with_what_is_wrong(text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why) as raised:
        MasterAddress.parse(text)
    assert text in str(raised.value)


def test_a_password_in_a_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(ConfigError, match="give the token instead") as raised:
        MasterAddress.parse("http://me:sesame@master")
    assert "sesame" not in str(raised.value)


def test_a_file_that_is_no_socket_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.touch()
    with pytest.raises(ConfigError, match="wanted the socket of a master"):
        MasterAddress.parse(path)


def test_a_long_path_is_reached_by_a_short_one(tmp_path: Path) -> None:
    path = tmp_path / ("d" * 120) / "master.sock"
    path.parent.mkdir()
    short = ShortPath(path)
    assert len(short.path) <= 107
    Path(short.path).touch()
    assert path.exists()
    short.close()
    short.close()


def test_a_short_path_stays_as_it_is(tmp_path: Path) -> None:
    short = ShortPath(Path("/run/master.sock"))
    assert short.path == "/run/master.sock"
    short.close()
