"""Databases that crawls write their records to, of both kinds, looked at in the same way."""

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mongo
import postgres
from clusters import Background
from crawling import Run
from serving import SmallSite

VARIABLE = "RECORDS_DB"


@dataclass
class Place:
    """A table or a collection of one test's own."""

    kind: str
    server: Any
    name: str = field(default_factory=lambda: f"t_{secrets.token_hex(4)}")

    @property
    def url(self) -> str:
        return str(self.server.url if self.kind == "postgresql" else self.server.url("crawls"))

    def toml(self, url: str = "", **more: str) -> str:
        """Return the sink as it stands in a job file."""
        field_name = "table" if self.kind == "postgresql" else "collection"
        said = {"type": self.kind, "url": url or self.url, field_name: self.name, **more}
        return "[[sinks]]\n" + "".join(f"{name} = {json.dumps(v)}\n" for name, v in said.items())

    def rows(self) -> list[Mapping[str, Any]]:
        """Return what is there; nothing while it is not there yet."""
        if self.kind == "mongodb":
            return list(self.server.documents("crawls", self.name))
        if self.server.sql(f"SELECT to_regclass('{self.name}')") == [(None,)]:
            return []
        found = self.server.sql(f"SELECT to_jsonb(t) FROM {self.name} AS t")
        return [row for (row,) in found]

    def writers(self) -> int:
        """Return how many clients of PostgreSQL have written there and stay."""
        words = f"FROM pg_stat_activity WHERE query LIKE '%INSERT INTO \"{self.name}\"%'"
        [(count,)] = self.server.sql(f"SELECT count(*) {words} AND pid <> pg_backend_pid()")
        return int(count)

    def titles(self) -> list[tuple[str, str]]:
        """Return URL and title of every record, in order."""
        return sorted((row["url"], row["title"]) for row in self.rows())


KINDS: Mapping[str, Callable[[], Any]] = {
    "postgresql": postgres.shared_postgres,
    "mongodb": mongo.shared_mongo,
}


def place(kind: str) -> Place:
    """Return a place on the server that all tests of this process share."""
    return Place(kind, KINDS[kind]())


def numbered_site(pages: int) -> SmallSite:
    """Return a site of one list and its pages."""
    links = "".join(f'<a href="/{n}">{n}</a>' for n in range(pages))
    texts = {f"/{n}": f"<title>Page {n}</title><p>text of {n}" for n in range(pages)}
    return SmallSite({"/": f"<title>All</title>{links}", **texts})


def all_of(site: SmallSite, pages: int) -> list[tuple[str, str]]:
    """Return URL and title of every page of such a site, in order."""
    return sorted(
        [(site.url("/"), "All"), *((site.url(f"/{n}"), f"Page {n}") for n in range(pages))]
    )


class JobRun(Run):
    """A crawl by a job file that says where the records go; it has no ``--out``."""

    def _words(self) -> list[str]:
        words = super()._words()
        at = words.index("--out")
        return words[:at] + words[at + 2 :]

    def aloud(self) -> Background:
        """Start it so that it tells what it waits for."""
        return Background(self.directory, *self._words()[1:], "--json")

    def said(self) -> str:
        """Crawl to the end and return what it warned of meanwhile."""
        with self.aloud() as crawl:
            assert crawl.ended() == 0, crawl.told
        return crawl.told


def job_run(
    directory: Path, entry: str, *sinks: str, delay: float = 0.0, flags: Sequence[str] = ()
) -> JobRun:
    """Return such a crawl from ``entry``."""
    directory.mkdir(exist_ok=True, parents=True)
    job = directory / "job.toml"
    head = f'id = "numbered"\nentries = ["{entry}"]\nsitemaps = "no"\n'
    polite = f"[polite]\ndelay = {delay}\nper_host = 4\n"
    job.write_text("\n".join([head, *sinks, polite]))
    return JobRun(directory, ["--job", str(job)], ["--allow-private", *flags])
