"""Headers, cookies and agents of a job, as servers hear them; what is kept of secrets."""

import gzip
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from crawling import Run, command, command_bytes, summary
from serving import Answer, SmallSite

from skitter.job.agents import DEFAULT_AGENT, choose_agent
from skitter.types import HostKey

pytestmark = pytest.mark.e2e

SECRETS = (b"hunter2", b"swordfish", b"opensesame")


@pytest.fixture
def other() -> Iterator[SmallSite]:
    """A site of somebody else."""
    with SmallSite({"/": "<title>other</title>"}, "127.0.0.2") as site:
        yield site


@pytest.fixture
def site(other: SmallSite) -> Iterator[SmallSite]:
    """The job's own site: it links to the other one, and leads there."""
    answers: dict[str, Answer | str] = {
        "/": f'<a href="{other.url()}">x</a><a href="/away">y</a><a href="/members/">z</a>',
        "/away": Answer(b"", status=302, headers={"Location": other.url("/landed")}),
        "/members/": Answer(b"<title>members</title>", headers={"Set-Cookie": "sid=theirs"}),
    }
    with SmallSite(answers) as running:
        yield running


def job_run(folder: Path, site: SmallSite, http: str, *flags: str, entry: str = "/") -> Run:
    folder.mkdir(exist_ok=True)
    job = folder / "job.toml"
    job.write_text(f'id = "login"\nkind = "web"\nentries = ["{site.url(entry)}"]\n[http]\n{http}\n')
    return Run(folder, ["--job", str(job)], ["--allow-private", "--delay", "0", *flags])


def written(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield every file of a crawl, unpacked where that is needed to see into it."""
    for path in folder.rglob("*"):
        if path.is_file():
            raw = path.read_bytes()
            yield path, gzip.decompress(raw) if path.suffix == ".gz" else raw


def test_cookies_and_headers_go_to_the_own_site_and_into_no_file(
    tmp_path: Path, site: SmallSite, other: SmallSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = tmp_path / "keys"
    keys.mkdir()
    (keys / "auth").write_text("Bearer swordfish\n")
    monkeypatch.setenv("LOGIN_SID", "hunter2")
    monkeypatch.chdir(tmp_path)
    run = job_run(
        tmp_path / "run",
        site,
        'headers = {Authorization = "file:../keys/auth"}\n'
        'cookies = {sid = "env:LOGIN_SID", plain = "opensesame"}\n',
        *("--warc", str(tmp_path / "run/arc")),
    )
    finished = run.finish()
    assert summary(finished)["ok"] == 3
    for asked, headers, _ in site.heard:
        if asked == "/robots.txt":
            assert not {"cookie", "authorization"} & headers.keys()
        else:
            assert headers["cookie"] == "sid=hunter2; plain=opensesame"
            assert headers["authorization"] == "Bearer swordfish"
    assert {"/", "/landed", "/robots.txt"} <= set(other.asked)
    assert not any({"cookie", "authorization"} & one.headers.keys() for one in other.heard)
    # The job file is the operator's own; everything else is Skitter's.
    (run.directory / "job.toml").unlink()
    for path, content in written(tmp_path / "run"):
        assert not [secret for secret in SECRETS if secret in content], path
    archived = b"".join(content for _, content in written(tmp_path / "run/arc"))
    assert b"\r\nCookie: (not archived)\r\n" in archived
    assert b"\r\nAuthorization: (not archived)\r\n" in archived
    data = ("--data", str(run.data))
    for words in (("page", site.url("/"), *data), ("config", "show"), ("job", "export", *data)):
        ended = command(*words)
        assert not [secret for secret in SECRETS if secret.decode() in ended.out + ended.err]
    assert not [secret for secret in SECRETS if secret.decode() in finished.stderr]
    assert b"members" in command_bytes("page", site.url("/members/"), *data, "--body")


def test_a_cookies_txt_is_read_as_browsers_write_it(
    tmp_path: Path, site: SmallSite, other: SmallSite
) -> None:
    run = job_run(tmp_path / "run", site, 'cookies = "file:cookies.txt"\n')
    (run.directory / "cookies.txt").write_text(
        "# Netscape HTTP Cookie File\n"
        "127.0.0.1\tFALSE\t/members\tFALSE\t0\tsid\thunter2\n"
        "127.0.0.1\tFALSE\t/\tTRUE\t0\ttls\topensesame\n"
        "127.0.0.1\tFALSE\t/\tFALSE\t1\told\topensesame\n"
        "127.0.0.2\tFALSE\t/\tFALSE\t0\tsid\tswordfish\n"
    )
    assert summary(run.finish())["ok"] == 3
    got = {one.path: one.headers.get("cookie") for one in site.heard}
    assert (got["/"], got["/away"], got["/members/"]) == (None, None, "sid=hunter2")
    assert not any("cookie" in one.headers for one in other.heard)


@pytest.mark.parametrize("workers", [0, 2])
def test_every_host_is_asked_by_one_of_several_agents(
    tmp_path: Path, workers: int, site: SmallSite, other: SmallSite
) -> None:
    agents = ["Ant/1", "Bee/2", "Cat/3"]
    with ExitStack() as stack:
        more = [
            stack.enter_context(SmallSite({"/": "<title>x</title>"}, f"127.0.0.{n}"))
            for n in range(3, 9)
        ]
        links = "".join(f'<a href="{one.url()}">x</a>' for one in (other, *more))
        site.answers["/"] = Answer(links.encode())
        ours = HostKey(site.url().split("/")[2])
        rude = choose_agent(agents, ours).partition("/")[0]
        site.answers["/robots.txt"] = Answer(
            f"User-agent: {rude}\nDisallow: /no\n\nUser-agent: *\nDisallow: /".encode(),
            content_type="text/plain",
        )
        site.answers["/"] = Answer(links.encode() + b'<a href="/no">x</a>')
        flags = ["--warc", str(tmp_path / "arc"), *(["--workers", "2"] if workers else [])]
        run = job_run(tmp_path / "run", site, f"agents = {agents}\n", *flags)
        summary(run.finish())
        heard = {one.url().split("/")[2]: one.heard for one in (site, other, *more)}
    for host, requests in heard.items():
        assert {"/", "/robots.txt"} <= {one.path for one in requests}
        names = {one.headers["user-agent"] for one in requests}
        assert names == {choose_agent(agents, HostKey(host))}
    assert len({one.headers["user-agent"] for requests in heard.values() for one in requests}) > 1
    refused = [r for r in run.records() if r["outcome"] == "refused"]
    assert [r["url"] for r in refused] == [site.url("/no")]
    archived = b"".join(content for _, content in written(tmp_path / "arc"))
    for agent in {choose_agent(agents, HostKey(host)) for host in heard}:
        assert f"\r\nUser-Agent: {agent}\r\n".encode() in archived


def test_an_operator_can_say_where_to_reach_them(tmp_path: Path, site: SmallSite) -> None:
    site.answers["/robots.txt"] = Answer(
        b"User-agent: skitter\nDisallow: /members/\n", content_type="text/plain"
    )
    run = job_run(tmp_path / "run", site, "", "--contact", "https://me.example/bot")
    summary(run.finish())
    names = {one.headers["user-agent"] for one in site.heard}
    assert names == {f"{DEFAULT_AGENT} (+https://me.example/bot)"}
    assert "/members/" not in site.asked
