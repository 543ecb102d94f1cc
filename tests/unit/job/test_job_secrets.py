"""Headers and cookies from files and the environment, and what is stored of them."""

import json
from pathlib import Path

import pytest

from skitter.errors import ConfigError
from skitter.job.load import JobSettings, job_from_flags, load_job
from skitter.job.parts import Http
from skitter.job.secrets import MOST_BYTES
from skitter.job.spec import Job, check_job

URL = "https://a.test/"


def sent(http: Http, url: str = URL, environ: dict[str, str] | None = None) -> dict[str, str]:
    return dict(http.own_headers(environ or {}).for_url(url, 1_000))


def refused(http: object) -> str:
    with pytest.raises(ConfigError) as caught:
        check_job({"entries": [URL], "http": http}, "job")
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "value"),
    [(b"abc\n", "abc"), (b"abc\r\n", "abc"), (b"abc", "abc"), (b"\xef\xbb\xbfa b", "a b")],
)
def test_a_file_holds_the_value_without_its_last_line_break(
    tmp_path: Path, content: bytes, value: str
) -> None:
    (tmp_path / "key").write_bytes(content)
    assert sent(Http(headers={"X-Key": f"file:{tmp_path}/key"})) == {"X-Key": value}


def test_what_a_file_holds_is_never_told(tmp_path: Path) -> None:
    file = tmp_path / "key"
    http = Http(headers={"X-Key": f"file:{file}"})
    with pytest.raises(ConfigError, match=r"http\.headers\.X-Key: .*key: cannot be read: No such"):
        http.own_headers()
    for content, why in [
        (b"hunter2\r\nHost: evil\n", "holds control characters"),
        (b"hunter2\xff", "not UTF-8 text"),
        (b"hunter2" * MOST_BYTES, "longer than 1,048,576 bytes"),
    ]:
        file.write_bytes(content)
        with pytest.raises(ConfigError) as caught:
            http.own_headers()
        assert why in str(caught.value)
        assert str(caught.value).startswith("http.headers.X-Key: ")
        assert "hunter2" not in str(caught.value)


def test_cookies_of_a_table_become_one_header(tmp_path: Path) -> None:
    (tmp_path / "sid").write_text("s3\n")
    http = Http(cookies={"a": "1", "b": "env:B", "sid": f"file:{tmp_path}/sid"})
    assert sent(http, environ={"B": "two"}) == {"Cookie": "a=1; b=two; sid=s3"}
    with pytest.raises(ConfigError, match=r"http\.cookies\.b: environment variable B is not set"):
        http.own_headers({})
    with pytest.raises(ConfigError, match=r"http\.cookies\.b: holds a semicolon") as caught:
        http.own_headers({"B": "hunter2; c=1"})
    assert "hunter2" not in str(caught.value)
    assert not Http().own_headers()


def test_a_cookies_txt_gives_each_url_what_is_for_it(tmp_path: Path) -> None:
    (tmp_path / "cookies.txt").write_text("a.test\tFALSE\t/x\tTRUE\t0\tsid\t1\n")
    http = Http(headers={"X": "y"}, cookies=f"file:{tmp_path}/cookies.txt")
    assert sent(http, "https://a.test/x") == {"X": "y", "Cookie": "sid=1"}
    assert sent(http, "https://a.test/y") == {"X": "y"}
    assert http.own_headers()


@pytest.mark.parametrize(
    ("http", "why"),
    [
        ({"cookies": {"a b": "hunter2"}}, "http.cookies: a b: not a cookie name"),
        ({"cookies": {"a": "hunter2; b=1"}}, "http.cookies: a: holds a semicolon"),
        ({"cookies": {"a": "hunter2\n"}}, "http.cookies: a: a header value cannot hold control"),
        ({"cookies": {"a": 1}}, "http.cookies: a: wanted a string"),
        ({"cookies": "sid=hunter2"}, 'http.cookies: wanted a table of names and values, or "file:'),
        ({"cookies": ["hunter2"]}, "http.cookies: wanted a table of names and values"),
        ({"headers": {"X": "file:"}}, 'http.headers.X: wanted "file:PATH"'),
        ({"cookies": {"a": "hunter2"}, "headers": {"cookie": "b"}}, "http: cookies: there is a h"),
        ({"cookies": {"a": "hunter2"}, "agents": ["x"], "agent": "y"}, "http: agents: there is an"),
        ({"contact": "me@a.test"}, 'http.contact: "me@a.test": wanted "https://'),
        ({"contact": "https://a.test/ (hi)"}, "http.contact: "),
    ],
)
def test_what_cannot_be_sent_is_refused_without_its_value(http: object, why: str) -> None:
    said = refused(http)
    assert why in said
    assert "hunter2" not in said


def test_of_secrets_only_the_words_are_stored() -> None:
    http = {
        "headers": {"Authorization": "hunter2", "X-Key": "file:/k", "Accept": "*/*"},
        "cookies": {"a": "hunter2", "b": "env:B", "c": "file:c.txt"},
    }
    job = check_job({"entries": [URL], "http": http}, "job")
    stored = json.loads(job.to_json())["http"]
    assert stored["headers"] == {"X-Key": "file:/k", "Accept": "*/*"}
    assert stored["cookies"] == {"b": "env:B", "c": "file:c.txt"}
    assert "hunter2" not in repr(job)
    again = Job.from_json(job.to_json())
    assert again.http.cookies == {"b": "env:B", "c": "file:c.txt"}
    whole = check_job({"entries": [URL], "http": {"cookies": "file:c.txt"}}, "job")
    assert Job.from_json(whole.to_json()).http.cookies == "file:c.txt"


def test_a_file_is_looked_for_beside_the_job_file(tmp_path: Path) -> None:
    file = tmp_path / "job.toml"
    file.write_text(
        f'entries = ["{URL}"]\n[http]\nheaders = {{A = "file:k", B = "file:/k", C = "file:~/k",'
        ' D = "k"}\ncookies = "file:sub/c.txt"\n'
    )
    for job in (load_job(file), job_from_flags((), flags=JobSettings(), base=load_job(file))):
        assert job.http.headers == {
            "A": f"file:{tmp_path}/k",
            "B": "file:/k",
            "C": "file:~/k",
            "D": "k",
        }
        assert job.http.cookies == f"file:{tmp_path}/sub/c.txt"
