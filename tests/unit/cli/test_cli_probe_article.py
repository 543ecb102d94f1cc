"""The article probe, as a function and as a command."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from skitter.cli.main import app
from skitter.cli.probes import article
from skitter.errors import ConfigError

URL = "https://site.test/2024/05/17/harbour-light"
TEXT = (
    "The harbour light was lit again on Friday, after a winter in which ships had to find their "
    "way by the bells of the church, which the vicar had rung himself through every night of fog."
)
HTML = (
    '<html lang="en"><head><title>Harbour light | Site</title>'
    '<meta name="author" content="Ann Lee"><meta name="description" content="It burns.">'
    '<meta property="og:image" content="/light.jpg"></head>'
    f"<body><h1>Harbour light</h1><article><p>{TEXT}</p><p>{TEXT[::-1]}</p></article></body></html>"
)


def test_the_probe_answers_everything_it_knows() -> None:
    assert article.answer({"html": HTML, "url": URL}) == {
        "title": "Harbour light",
        "text": f"{TEXT}\n\n{TEXT[::-1]}",
        "author": "Ann Lee",
        "published": "2024-05-17",
        "description": "It burns.",
        "image": "https://site.test/light.jpg",
        "language": "en",
        "class": "data",
    }


def test_the_probe_finds_out_the_encoding_of_a_file(tmp_path: Path) -> None:
    sentence = (
        "港口的灯塔周五重新点亮，整个冬天船只都靠教堂的钟声辨认方向，牧师每个雾夜都亲自敲钟。"
    )
    file = tmp_path / "page.html"
    file.write_bytes(f"<title>灯塔</title><p>{sentence}</p><p>{sentence}完</p>".encode("gbk"))
    answer = article.answer({"path": str(file), "url": URL})
    assert (answer["text"], answer["language"]) == (f"{sentence}\n\n{sentence}完", "zh")


def test_a_page_of_links_is_nav_and_an_address_is_not_needed() -> None:
    links = "".join(f"<li><a href=/{n}>Page number {n}</a></li>" for n in range(30))
    assert article.answer({"html": f"<ul>{links}</ul>"})["class"] == "nav"
    assert article.answer({"html": "", "url": None})["text"] == ""


@pytest.mark.parametrize(
    ("question", "field"),
    [({"html": 3}, "html"), ({"url": URL}, "html"), ({"path": "/no/such", "url": URL}, "path"),
     ({"html": "", "url": 7}, "url")],
)  # fmt: skip
def test_a_bad_question_is_named(question: dict[str, object], field: str) -> None:
    with pytest.raises(ConfigError, match=f"^{field}: "):
        article.answer(question)


def test_the_command_answers_line_by_line() -> None:
    lines = json.dumps({"html": HTML, "url": URL}) + "\n" + json.dumps({"html": ""}) + "\n"
    result = CliRunner().invoke(app, ["probe", "article"], input=lines)
    assert result.exit_code == 0
    first, second = map(json.loads, result.stdout.splitlines())
    assert (first["title"], second["title"]) == ("Harbour light", None)
