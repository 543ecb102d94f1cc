"""Commands that look into a shared store: they write nothing there, whether a crawl is in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from clusters import ManyHosts
from crawling import Ended, command
from stores import RedisServer, start_redis

pytestmark = pytest.mark.e2e

BAD_INPUT = 2


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A store that would lose everything with a restart: writers are warned of it."""
    with start_redis(tmp_path_factory.mktemp("redis")) as made:
        yield made


def written(server: RedisServer) -> tuple[int, int]:
    """Return how many keys there are, and how many changes there ever were."""
    changes = server.cli("INFO", "persistence")["rdb_changes_since_last_save"]
    return server.cli("DBSIZE"), int(changes)


def looks(url: str, page: str) -> dict[str, Ended]:
    return {
        "page": command("page", page, "--store", url),
        "page as json": command("page", page, "--store", url, "--json"),
        "export": command("job", "export", "--store", url),
        "export to a file": command("job", "export", "--store", url, "--out", "out.jsonl"),
        "seeds": command("job", "export", "--store", url, "--seeds", "3"),
    }


def test_a_store_without_a_crawl_is_left_as_it_is(server: RedisServer, here: Path) -> None:
    before = written(server), server.cli("FUNCTION", "LIST")
    for name, ended in looks(f"{server.url}?namespace=unknown", "http://127.0.0.1:9/").items():
        assert (ended.code, ended.out) == (BAD_INPUT, ""), (name, ended)
        [line] = ended.err.splitlines()
        assert line.startswith("skitter: --store redis://127.0.0.1:"), (name, line)
        assert "namespace=unknown: no crawl has begun there" in line, (name, line)
    assert (written(server), server.cli("FUNCTION", "LIST")) == before
    assert list(here.iterdir()) == []


def test_looking_at_a_crawl_changes_nothing_and_warns_of_nothing(
    server: RedisServer, here: Path
) -> None:
    url = f"{server.url}?namespace=crawled"
    with ManyHosts(2, 3) as web:
        run = web.run(here, "--store", url)
        done = run.finish()
        assert done.returncode == 0, done
        entry = web.entry
    before = written(server)
    found = looks(url, entry)
    assert written(server) == before
    for name, ended in found.items():
        assert ended.code == 0, (name, ended)
        assert "append-only" not in ended.err, (name, ended)
    assert '"state": "done"' in found["page as json"].out
    exported = (here / "out.jsonl").read_text().splitlines()
    assert len(exported) == len(run.records()) > 1
