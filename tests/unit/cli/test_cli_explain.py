"""``skitter page``: which crawl is meant, and how facts are laid out."""

import json
from pathlib import Path

import pytest

from skitter.cli import explain
from skitter.cli.explain import print_page, readable
from skitter.cli.place import Flags, data_directory, named_place
from skitter.errors import ConfigError, UrlError
from skitter.wiring.look import Where


def make(base: Path, *names: str) -> list[Path]:
    made = [base / ".skitter" / name for name in names]
    for path in made:
        (path / "frontier").mkdir(parents=True)
    return made


def test_the_only_crawl_here_is_the_one_meant(tmp_path: Path) -> None:
    [only] = make(tmp_path, "a")
    assert data_directory(None, tmp_path) == only


def test_of_several_crawls_one_must_be_named(tmp_path: Path) -> None:
    make(tmp_path, "a", "b")
    with pytest.raises(ConfigError, match=r"--data DIR: \.skitter/a, \.skitter/b$"):
        data_directory(None, tmp_path)


def test_what_a_node_keeps_there_is_no_crawl(tmp_path: Path) -> None:
    [only] = make(tmp_path, "a")
    (tmp_path / ".skitter/node/1").mkdir(parents=True)
    assert data_directory(None, tmp_path) == only


def test_where_nothing_was_crawled_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no crawl has left its state"):
        data_directory(None, tmp_path)
    with pytest.raises(ConfigError, match="x: no such state directory"):
        data_directory(tmp_path / "x", tmp_path)


def test_a_store_is_meant_where_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [only] = make(tmp_path, "a")
    monkeypatch.chdir(tmp_path)
    store = "redis://:secret@store.test"
    assert named_place(Flags(store=store), "job") == Where(store=store, job="job")
    assert "secret" not in str(named_place(Flags(store=store)))
    with pytest.raises(ConfigError, match="--data and --store: wanted one of them"):
        named_place(Flags(only, store))


def test_facts_are_aligned_and_nested_ones_keep_their_path() -> None:
    found: dict[str, object] = {
        "url": "https://a.example/",
        "fetched": True,
        "record": {"status": 200, "title": "A\n title", "text": None, "labels": {}},
        "referrer": None,
        "redirects": ["https://b.example/", "https://c.example/"],
        "links": [{"a": 1}],
    }
    assert readable(found) == [
        "url            https://a.example/",
        "fetched        yes",
        "record.status  200",
        "record.title   A title",
        "referrer       -",
        "redirects      https://b.example/",
        "               https://c.example/",
        'links          {"a": 1}',
    ]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[Where, str]]:
    calls: list[tuple[Where, str]] = []

    async def explain_page(where: Where, url: str) -> list[dict[str, object]]:
        calls.append((where, url))
        return [{"url": url, "state": "done"}]

    monkeypatch.setattr(explain, "explain_page", explain_page)
    monkeypatch.chdir(tmp_path)
    return calls


def test_a_page_is_looked_up_by_its_whole_url(
    asked: list[tuple[Where, str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [only] = make(tmp_path, "a")
    where = named_place(Flags())
    print_page("Example.com/x#top", where, as_json=True)
    assert json.loads(capsys.readouterr().out) == {"url": "https://example.com/x", "state": "done"}
    print_page("example.com", named_place(Flags(only)), as_json=False)
    assert "state  done" in capsys.readouterr().out
    here = Where(only)
    assert asked == [(here, "https://example.com/x"), (here, "https://example.com/")]


def test_a_bad_url_is_refused_before_the_store_is_touched(asked: list[tuple[Where, str]]) -> None:
    with pytest.raises(UrlError):
        print_page("nonsense", Where(), as_json=False)
    assert asked == []
