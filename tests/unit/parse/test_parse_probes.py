import base64
from pathlib import Path

import pytest

from skitter.cli.probes import encoding, links
from skitter.errors import ConfigError


def test_the_encoding_probe_reads_base64() -> None:
    body = base64.b64encode("<p>河边的柳树都绿了".encode("gbk")).decode()
    assert encoding.answer({"b64": body, "content_type": None}) == {"encoding": "gbk"}
    assert encoding.answer({"b64": "", "content_type": "text/html; charset=big5"}) == {
        "encoding": "big5"
    }


def test_the_probes_read_files(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_bytes("<meta charset=big5><a href=x>柳樹".encode("big5"))
    assert encoding.answer({"path": str(file)}) == {"encoding": "big5"}
    answer = links.answer({"path": str(file), "url": "http://site.test/"})
    assert answer["links"] == [{"url": "http://site.test/x", "text": "柳樹", "rel": "", "tag": "a"}]


def test_the_links_probe_answers_everything_it_knows() -> None:
    html = (
        "<base href=/b/><meta name=robots content=noindex>"
        "<link rel=canonical href=c><a href=a rel=nofollow>A</a>"
    )
    assert links.answer({"html": html, "url": "http://site.test/p"}) == {
        "links": [
            {"url": "http://site.test/b/", "text": "", "rel": "", "tag": "base"},
            {"url": "http://site.test/b/c", "text": "", "rel": "canonical", "tag": "link"},
            {"url": "http://site.test/b/a", "text": "A", "rel": "nofollow", "tag": "a"},
        ],
        "base": "http://site.test/b/",
        "canonical": "http://site.test/b/c",
        "robots": ["noindex"],
    }


@pytest.mark.parametrize(
    ("question", "field"),
    [
        ({}, "b64"),
        ({"b64": 3}, "b64"),
        ({"b64": "not base64!"}, "b64"),
        ({"b64": "é"}, "b64"),
        ({"path": 3}, "path"),
        ({"path": "/no/such/file"}, "path"),
        ({"path": "/"}, "path"),
        ({"path": "\0"}, "path"),
        ({"b64": "", "content_type": 3}, "content_type"),
    ],
)
def test_a_bad_encoding_question_names_its_field(question: dict[str, object], field: str) -> None:
    with pytest.raises(ConfigError, match=f"^{field}: "):
        encoding.answer(question)


@pytest.mark.parametrize(
    ("question", "field"),
    [
        ({}, "url"),
        ({"url": 3, "html": ""}, "url"),
        ({"url": "nonsense", "html": ""}, "url"),
        ({"url": "ftp://site.test/", "html": ""}, "url"),
        ({"url": "http://site.test/"}, "html"),
        ({"url": "http://site.test/", "html": ["x"]}, "html"),
        ({"url": "http://site.test/", "path": "/no/such/file"}, "path"),
    ],
)
def test_a_bad_links_question_names_its_field(question: dict[str, object], field: str) -> None:
    with pytest.raises(ConfigError, match=f"^{field}: "):
        links.answer(question)
