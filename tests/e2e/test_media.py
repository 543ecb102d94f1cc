"""Pictures of pages: fetched once, archived, and named in the records."""

import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from crawling import Record, Run, command, command_bytes, facts, refusal, summary, wait_until
from serving import Answer, SmallSite
from stores import own_store

pytestmark = pytest.mark.e2e

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


def picture(text: str, kind: str = "image/png") -> Answer:
    return Answer(PNG + text.encode(), content_type=kind)


@pytest.fixture
def cdn() -> Iterator[SmallSite]:
    """Another host, where the site keeps some of its pictures."""
    answers: dict[str, Answer | str] = {
        "/robots.txt": Answer(b"User-agent: *\nDisallow: /secret", content_type="text/plain"),
        "/far.png": picture("far"),
        "/secret/no.png": picture("no"),
        "/page.html": "<title>never asked for</title>",
    }
    with SmallSite(answers, "127.0.0.2") as site:
        yield site


@pytest.fixture
def site(cdn: SmallSite) -> Iterator[SmallSite]:
    pages = {
        "/": '<meta property="og:image" content="/lead.png"><a href="/two">2</a>'
        '<img src="/shared.png"><img src="/lead.png"><img src="/dot.gif" width=1 height=1>'
        f'<img src="{cdn.url("/far.png")}"><img src="/moved.png">'
        f'<a href="{cdn.url("/page.html")}">3</a>',
        "/two": '<title>two</title><img src="shared.png#x" srcset="/small.png 1x, /big.png 2x">'
        f'<img src="/gone.png"><img src="/page.png"><img src="/fake.png"><img src="data:,x">'
        f'<img src="{cdn.url("/secret/no.png")}"><video src="/film.mp4"></video>',
    }
    answers: dict[str, Answer | str] = {
        **pages,
        "/lead.png": picture("lead"),
        "/shared.png": picture("shared"),
        "/small.png": picture("small"),
        "/big.png": Answer(PNG * 1000, content_type="image/png"),
        "/page.png": "<title>no picture</title>",
        "/fake.png": Answer(b"<!doctype html><title>x", content_type="image/png"),
        "/moved.png": Answer(b"", status=301, headers={"Location": "/new.png"}),
        "/new.png": picture("new", "image/webp"),
    }
    with SmallSite(answers) as running:
        yield running


def job_run(folder: Path, site: SmallSite, more: str = "", *flags: str) -> Run:
    folder.mkdir(exist_ok=True)
    job = folder / "job.toml"
    job.write_text(
        f'id = "shots"\nentries = ["{site.url()}"]\nsitemaps = "no"\nmedia = ["image"]\n{more}\n'
        "[limits]\nmedia_bytes = 5000\n"
    )
    where = ["--warc", str(folder / "arc"), *flags]
    return Run(folder, ["--job", str(job)], ["--allow-private", "--delay", "0", *where])


def by_path(records: Sequence[Record]) -> dict[str, Record]:
    return {"/" + record["url"].split("/", 3)[3]: record for record in records}


@pytest.mark.parametrize("where", ["directory", "workers", "redis"])
def test_the_pictures_of_pages_are_in_the_archive_and_in_the_records(
    tmp_path: Path, site: SmallSite, cdn: SmallSite, where: str
) -> None:
    extra = {"directory": [], "workers": ["--workers", "2"], "redis": ["--store", own_store()]}
    run = job_run(tmp_path, site, "", *extra[where])
    counts = summary(run.finish())
    assert (counts["pages"], counts["ok"], counts["failed"], counts["media"]) == (2, 2, 0, 4)
    records = by_path(run.records())
    assert records.keys() == {"/", "/two"}
    assert records["/"]["media"] == [
        {"url": site.url("/lead.png"), "kind": "image"},
        {"url": site.url("/shared.png"), "kind": "image"},
        {"url": cdn.url("/far.png"), "kind": "image"},
        {"url": site.url("/moved.png"), "kind": "image"},
    ]
    assert [one["url"].rsplit("/", 1)[1] for one in records["/two"]["media"]] == [
        "shared.png", "big.png", "gone.png", "page.png", "fake.png", "no.png",
    ]  # fmt: skip
    asked = Counter(path for path in site.asked if path.endswith((".png", ".gif", ".mp4")))
    assert asked == Counter(
        ["/lead.png", "/shared.png", "/moved.png", "/new.png", "/big.png", "/gone.png",
         "/page.png", "/fake.png"]
    )  # fmt: skip
    assert Counter(cdn.asked) == Counter(["/robots.txt", "/far.png"])
    [lead] = [one for one in site.heard if one.path == "/lead.png"]
    assert lead.headers["accept"] == "image/*,*/*;q=0.5"
    if where == "redis":
        return
    told = {
        url: facts(run.data, url)["record"]
        for record in records.values()
        for url in (one["url"] for one in record["media"])
    }
    assert {record["page_class"] for record in told.values()} == {"media"}
    ends = {url.rsplit("/", 1)[1]: (one["outcome"], one["error"]) for url, one in told.items()}
    assert {name for name, (outcome, _) in ends.items() if outcome == "ok"} == {
        "lead.png", "shared.png", "far.png", "moved.png",
    }  # fmt: skip
    too_large = "Content-Length is 16000 bytes, and limits.media_bytes is 5000"
    assert ends["big.png"] == ("failed", too_large)
    assert ends["gone.png"] == ("http_error", "status 404")
    assert ends["page.png"][0] == "skipped"
    assert ends["fake.png"] == ("skipped", "it says image/png, and is a page")
    assert ends["no.png"][0] == "refused"
    shared = told[site.url("/shared.png")]
    assert shared["warc_file"]
    assert shared["payload_digest"].startswith("sha1:")
    assert (shared["depth"], shared["referrer"]) == (0, site.url())
    for name in ("/lead.png", "/shared.png"):
        body = command_bytes("page", site.url(name), "--data", str(run.data), "--body")
        assert body == PNG + name[1:-4].encode()
    moved = told[site.url("/moved.png")]
    assert (moved["final_url"], moved["content_type"]) == (site.url("/new.png"), "image/webp")
    exported = command("job", "export", "--data", run.data)
    if exported.code == 0:
        assert "lead.png" not in {json.loads(line)["url"] for line in exported.out.splitlines()}


def test_a_page_may_name_no_more_than_the_cap(tmp_path: Path, site: SmallSite) -> None:
    run = job_run(tmp_path, site)
    job = tmp_path / "job.toml"
    job.write_text(job.read_text() + "media_per_page = 2\n")
    out = tmp_path / "pages.csv"
    run.flags += ["--out", str(out)]
    assert "media         " in run.told()
    assert [len(record["media"]) for record in run.records()] == [2, 2]
    assert '""kind"":""image""' in out.read_text()


def test_media_want_an_archive(tmp_path: Path, site: SmallSite) -> None:
    run = job_run(tmp_path, site)
    run.flags = ["--allow-private"]
    line = refusal(run)
    assert line.endswith(
        "media: wanted an archive to keep them in: --warc DIR or archive.directory"
    )
    assert not run.data.exists()


def test_a_job_that_asks_for_none_fetches_none(tmp_path: Path, site: SmallSite) -> None:
    run = site.run(tmp_path)
    assert summary(run.finish())["media"] == 0
    assert not any(path.endswith(".png") for path in site.asked)
    assert {tuple(record["media"]) for record in run.records()} == {()}


def test_a_killed_crawl_asks_for_no_picture_twice(tmp_path: Path) -> None:
    """Nor for a page; what was under way when it was killed is the exception."""
    names = [f"/p{n}.png" for n in range(40)]
    pages = {
        f"/{n}": f'<a href="/{n + 1}">x</a>' + "".join(f'<img src="{one}">' for one in names[n::2])
        for n in range(4)
    }
    answers: dict[str, Answer | str] = {name: picture(name) for name in names}
    with SmallSite({"/": pages["/0"], **pages, **answers}) as site:
        run = job_run(tmp_path, site)
        run.flags[run.flags.index("--delay") + 1] = "0.05"
        for share in (12, 30):
            process = run.start()
            try:
                wait_until(process, lambda share=share: len(site.asked) >= share)  # type: ignore[misc]
                # What has come is safe a moment later.
                time.sleep(0.3)
            finally:
                process.kill()
                process.communicate()
        counts = summary(run.finish())
        assert counts["media"] == len(names)
        asked = Counter(path for path in site.asked if path.endswith(".png"))
        assert asked.keys() == set(names)
        assert sum(asked.values()) <= len(names) + 2 * 10
        shown = {one["url"] for record in run.records() for one in record["media"]}
        assert shown == {site.url(name) for name in names}
        body = command_bytes("page", site.url("/p7.png"), "--data", str(run.data), "--body")
        assert body == PNG + b"/p7.png"
