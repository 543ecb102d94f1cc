"""The sitemap probe, as a function and as a command."""

import base64
import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from skitter.cli.main import app
from skitter.cli.probes import sitemap
from skitter.errors import ConfigError

URL = "https://site.test/sitemap.xml"
DOCUMENT = (
    b"<urlset><url><loc>/a</loc><lastmod>2024-05-17</lastmod><changefreq>daily</changefreq>"
    b"<priority>0.5</priority></url><url><loc>https://site.test/b</loc></url></urlset>"
)


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_the_probe_answers_everything_it_knows() -> None:
    assert sitemap.answer({"b64": b64(DOCUMENT), "url": URL}) == {
        "urls": [
            {
                "loc": "https://site.test/a",
                "lastmod": "2024-05-17",
                "changefreq": "daily",
                "priority": 0.5,
            },
            {"loc": "https://site.test/b", "lastmod": None, "changefreq": None, "priority": None},
        ],
        "sitemaps": [],
        "kind": "urlset",
        "problem": None,
        "skipped": 0,
    }


def test_the_probe_tells_sitemaps_from_pages_and_reads_files(tmp_path: Path) -> None:
    file = tmp_path / "index.xml.gz"
    index = b"<sitemapindex><sitemap><loc>a.xml</loc></sitemap></sitemapindex>"
    file.write_bytes(gzip.compress(index))
    answer = sitemap.answer({"path": str(file), "url": URL})
    assert (answer["urls"], answer["sitemaps"]) == ([], ["https://site.test/a.xml"])


def test_the_probe_says_what_is_wrong() -> None:
    answer = sitemap.answer({"b64": b64(b"<html>"), "url": URL})
    assert (answer["kind"], answer["problem"]) == ("html", "an HTML page, not a sitemap")


@pytest.mark.parametrize(
    ("question", "field"),
    [
        ({"b64": ""}, "url"),
        ({"b64": "", "url": 3}, "url"),
        ({"b64": "", "url": "nonsense"}, "url"),
        ({"b64": "", "url": "ftp://site.test/"}, "url"),
        ({"url": URL}, "b64"),
        ({"url": URL, "b64": 3}, "b64"),
        ({"url": URL, "b64": "not base64!"}, "b64"),
        ({"url": URL, "b64": "é"}, "b64"),
        ({"url": URL, "path": 3}, "path"),
        ({"url": URL, "path": "/no/such/file"}, "path"),
    ],
)
def test_a_bad_sitemap_question_names_its_field(question: dict[str, object], field: str) -> None:
    with pytest.raises(ConfigError, match=f"^{field}: "):
        sitemap.answer(question)


def test_the_command_answers_line_by_line() -> None:
    lines = [json.dumps({"b64": b64(DOCUMENT), "url": URL}), "nonsense", json.dumps({"b64": ""})]
    ended = CliRunner().invoke(app, ["probe", "sitemap"], input="\n".join(lines))
    answers = [json.loads(line) for line in ended.stdout.splitlines()]
    assert ended.exit_code == 2
    assert len(answers[0]["urls"]) == 2
    assert answers[1:] == [
        {"error": "line 2: wanted a JSON object"},
        {"error": "line 3: url: None; wanted a string"},
    ]
