"""The pages of the documentation say what is so: paths, numbers and names are looked up."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from documents import README, ROOT, blocks, named

from skitter.cluster import assignment, control, tenure
from skitter.cluster import crew as crews
from skitter.cluster.manager import notices
from skitter.crawl import linked, rights, shared_names, sitemap_visit, sitemaps
from skitter.crawl.aliases.rows import aliases_mark
from skitter.crawl.commit import MAX_WAITING_BYTES, scope_mark, traps_mark
from skitter.crawl.quota import SETTLED
from skitter.crawl.traps import limits, memory, verdict
from skitter.crawl.travel import MAX_HOP_WAIT_MS
from skitter.crawl.works import EngineOptions
from skitter.frontier.base import OWNER_TTL_MS
from skitter.frontier.embedded import agenda, handout, places
from skitter.frontier.embedded.seen.sizing import shape_for
from skitter.frontier.members import DEAD_MS
from skitter.frontier.model import MAX_LOST, MAX_LOST_SHARED, SCORED_RANKS, SeenOptions
from skitter.frontier.redis import checks, intake, outbox
from skitter.frontier.redis import handout as redis_handout
from skitter.frontier.redis.address import DEFAULT_NAMESPACE
from skitter.frontier.redis.keys import Keys
from skitter.frontier.remote import server
from skitter.job.agents import DEFAULT_AGENT
from skitter.job.outputs import SCHEMES
from skitter.job.parts import Http, Polite, Traps
from skitter.job.spec import check_job
from skitter.pipeline.archive.writer import Archive
from skitter.pipeline.base import SINK_MARKS
from skitter.pipeline.csv_file import CsvSink
from skitter.pipeline.jsonl import JsonlSink
from skitter.pipeline.parquet import ParquetSink
from skitter.pipeline.sqlite import SqliteSink
from skitter.politeness.pace import PaceOptions
from skitter.politeness.settings import table
from skitter.types import JobNumber
from skitter.url.partition import SLOTS, TAGS
from skitter.wiring.limits import RUN_MARK

ARCHITECTURE = ROOT / "docs" / "architecture.md"
CLUSTER = ROOT / "docs" / "cluster.md"
SCRIPTS = ROOT / "src" / "skitter" / "frontier" / "redis" / "lua"
TRAPS = ROOT / "docs" / "traps.md"
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
CHANGES = sorted((ROOT / "changes").glob("*.*.md"))
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "changes").glob("*.md"))]


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_links_between_the_pages_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        if "://" not in target:
            assert (path.parent / target).exists(), target


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_files_named_in_the_pages_exist(path: Path) -> None:
    files = [
        file.as_posix()
        for top in ("src", "tests", "scripts", "bench")
        for ending in ("py", "lua")
        for file in (ROOT / top).rglob(f"*.{ending}")
    ]
    text = path.read_text(encoding="utf-8")
    for named_file in re.findall(r"`([\w/]+\.(?:py|lua))`", text):
        assert any(file.endswith(f"/{named_file}") for file in files), named_file
    for page in re.findall(r"\bdocs/[\w/-]+\.md\b", text):
        assert (ROOT / page).exists(), page


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_folders_named_in_the_pages_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    inside = re.findall(r"`((?:\w+/){2,})`", text)
    from_root = re.findall(r"`((?:src|tests|scripts|bench|docs)(?:/\w+)+)`", text)
    for folder in (*(f"src/skitter/{name}" for name in inside), *from_root):
        assert (ROOT / folder).is_dir(), folder


@pytest.mark.parametrize(
    ("path", "text"),
    [(path, text) for path in PAGES for text in blocks(path, "toml")],
    ids=lambda value: named(value) if isinstance(value, Path) else "",
)
def test_job_files_in_the_pages_are_valid(path: Path, text: str) -> None:
    assert check_job(tomllib.loads(text), named(path)).entries


def stated() -> Iterator[tuple[Path, str]]:
    """Yield sentences that hold numbers of the code, as the code has them."""
    http, polite, engine = Http(), Polite(), EngineOptions()
    mib = http.max_bytes // 1024**2
    yield (
        README,
        (
            f"A page may take {http.timeout:g} s, {mib} MiB, {http.max_redirects} redirects"
            f" and {http.tries} tries."
        ),
    )
    assert (polite.per_host, polite.delay) == (1, 1.0)
    yield README, "A host gets one request at a time, one second apart"
    yield README, f"(up to {PaceOptions().max_crawl_delay_s:g} s)"
    yield README, f"The User-Agent is `{DEFAULT_AGENT}`."
    assert engine.drain_s == 4
    yield README, "for four seconds at most"
    yield ARCHITECTURE, "requests in flight get four seconds"
    yield ARCHITECTURE, f"is more than {engine.patience_s:g} s away"
    yield ARCHITECTURE, f"one of {SLOTS:,} buckets"
    assert (MAX_HOP_WAIT_MS, MAX_LOST) == (10_000, 3)
    yield ARCHITECTURE, "more than ten seconds"
    yield ARCHITECTURE, "after the third loss"
    yield from stated_of_clusters()
    yield from stated_of_order()
    yield from stated_of_traps()


def stated_of_clusters() -> Iterator[tuple[Path, str]]:
    [records] = [path for path in DECISIONS if path.name.startswith("0016-")]
    assert (SLOTS // TAGS, OWNER_TTL_MS, DEAD_MS) == (64, 5_000, 4_000)
    assert rights.SAFE_SHARE == tenure.SAFE_SHARE == 0.9
    yield ARCHITECTURE, f"One of {TAGS} groups of keys"
    yield ARCHITECTURE, "A tag has 64 slots."
    yield ARCHITECTURE, "Ownership of a slot for five seconds at a time"
    yield ARCHITECTURE, "until nine tenths of a grant's or lease's time are over"
    yield ARCHITECTURE, "one that is silent for four seconds is dead"
    yield CLUSTER, "is missed after four seconds, and others have its hosts"
    assert (control.LEAD_TTL_MS, tenure.DRAIN_S, tenure.BEAT_S) == (3_000, 10, 1)
    yield ARCHITECTURE, "by a lease of three seconds"
    yield ARCHITECTURE, "for ten seconds at most"
    yield ARCHITECTURE, f"within {assignment.TOLERANCE} of everyone's share"
    quiet = re.search(r"QUIET_MS = (\d+)", (SCRIPTS / "32_servers.lua").read_text("utf-8"))
    assert quiet is not None
    assert int(quiet[1]) == server.SILENCE_S * 1000 == OWNER_TTL_MS
    yield ARCHITECTURE, "Five seconds in which nothing is handed out"
    yield ARCHITECTURE, "after five seconds its leases end"
    yield CLUSTER, "the new server hands nothing out for five seconds"
    assert (MAX_LOST_SHARED, intake.HOLD_MS, outbox.LEASE_MS) == (10, 15_000, 6_000)
    yield ARCHITECTURE, "leases were lost ten times"
    yield ARCHITECTURE, "them for 15 s"
    yield CLUSTER, "it may have to wait six seconds"
    cap = redis_handout.STREAM_CAP
    assert 100_000 < cap * TAGS < 150_000
    yield CLUSTER, f"at most {cap} of a job in each of {TAGS} groups of hosts, about a hundred"
    yield records, f"hosts in a tag with {cap} records that wait"
    yield CLUSTER, f"Namespaces (default `{DEFAULT_NAMESPACE}`)"
    yield CLUSTER, f"Skitter needs Redis {checks.OLDEST_VERSION}.0 or newer"
    assert Keys(DEFAULT_NAMESPACE).anchor(7) == "{skitter:007}:a"
    yield CLUSTER, '"{skitter:$tag}:a" frozen 1'
    assert EngineOptions().drain_s < crews.STOP_S
    yield CLUSTER, "gives its requests four seconds to finish"


def stated_of_order() -> Iterator[tuple[Path, str]]:
    [best_first] = [path for path in DECISIONS if path.name.startswith("0014-")]
    yield ARCHITECTURE, f"ranks below {SCORED_RANKS:,} of scores"
    yield best_first, f"ranks below {SCORED_RANKS:,} count as scores"
    assert (SETTLED, handout.HOLD_MS, agenda.TURNS_PER_RANK) == (16, 2_000, 4)
    yield ARCHITECTURE, "only a sixteenth as many pages are under way"
    yield ARCHITECTURE, "is held back for up to two seconds"
    yield best_first, f"whose first URL is {handout.HOLD_RANKS} steps better"
    yield best_first, "a step worse is four turns later"
    yield ARCHITECTURE, f"({places.MAX_PLACES:,} are at most)"
    assert (sitemaps.MAX_LEVELS, sitemap_visit.OFFERED_AT_ONCE) == (5, 500)
    yield ARCHITECTURE, "five levels deep at most"
    yield ARCHITECTURE, "offered five hundred at a time"
    assert linked.STORE_EVERY_S == 20
    yield ARCHITECTURE, "every twenty seconds"
    yield ARCHITECTURE, f"beyond {MAX_WAITING_BYTES >> 20} MB the workers wait"


def stated_of_traps() -> Iterator[tuple[Path, str]]:
    bounds = limits.TrapLimits()
    assert (bounds.budget, bounds.max_repeats, verdict.FEW_SOUND) == (3, 3, 20)
    yield TRAPS, "When three pages in a row (the `budget`)"
    yield TRAPS, "one name more than three times"
    yield TRAPS, "fewer than twenty others to compare with"
    yield TRAPS, f"very many ({bounds.doubled_budget} and more)"
    yield TRAPS, f"A path may have {bounds.max_path_chars:,} characters"
    yield TRAPS, f"where {memory.CALM_PAGES} pages and more were sound"


def test_the_page_about_traps_shows_the_defaults() -> None:
    [text] = blocks(TRAPS, "toml")
    assert tomllib.loads(text)["traps"] == Traps().model_dump()
    section = TRAPS.read_text(encoding="utf-8").partition("## How to change it")[2]
    rows = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert rows == list(Traps.model_fields)


def test_the_marks_in_the_architecture_are_those_of_the_code() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    section = text.partition("### What is kept in one step")[2].partition("###")[0]
    cells = re.findall(r"^\| (`.+?) \|", section, re.MULTILINE)
    shown = {name for cell in cells for name in re.findall(r"`([\w:]+)`", cell)}
    sinks = (JsonlSink, CsvSink, SqliteSink, ParquetSink)
    job = JobNumber(1)
    of_job = (scope_mark(job), traps_mark(job), linked.linked_mark(job), aliases_mark(job))
    kinds = {f"{name.partition(':')[0]}:" for name in of_job}
    outputs = {sink.MARK_PREFIX for sink in sinks} | {Archive.MARK_PREFIX}
    outputs |= {f"{SINK_MARKS}{kind}:" for kind in SCHEMES}
    of_store = {table.MARKS, shared_names.MARK, f"{notices.LIST.partition(':')[0]}:"}
    assert shown == kinds | outputs | of_store | {"robots:", RUN_MARK}


@pytest.mark.parametrize(("path", "sentence"), list(stated()), ids=lambda value: str(value)[:40])
def test_numbers_in_the_pages_are_those_of_the_code(path: Path, sentence: str) -> None:
    assert sentence in " ".join(path.read_text(encoding="utf-8").split())


def test_the_bytes_of_known_urls_are_those_that_were_measured() -> None:
    measured = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    found: dict[str, list[float]] = {}
    for kind, size in re.findall(
        r"^\| (exact|compact|bloom), .*? \| ([\d.]+) \|", measured, re.MULTILINE
    ):
        found.setdefault(kind, []).append(float(size))
    rows = dict(
        re.findall(r"^\| `(exact|compact|bloom)` \| (.*?) \|", CLUSTER.read_text(), re.MULTILINE)
    )
    assert rows["exact"] == "9 to 10"
    assert all(9 <= size <= 10 for size in found["exact"])
    assert rows["compact"] == "about 5"
    assert {round(size) for size in found["compact"]} == {5}
    share = -(-SeenOptions().expected // TAGS)
    shape = shape_for(SeenOptions("bloom", share))
    assert rows["bloom"].startswith("5 by its formula, 6 to 11 as measured")
    assert round(shape.groups * shape.group_bytes / share) == 5
    assert sorted(round(size) for size in found["bloom"]) == [6, 11]


def test_the_decisions_are_numbered_without_gaps_and_have_the_same_parts() -> None:
    assert [int(path.name[:4]) for path in DECISIONS] == list(range(1, len(DECISIONS) + 1))
    for path in DECISIONS:
        text = path.read_text(encoding="utf-8")
        assert text.startswith(f"# {int(path.name[:4])}. ")
        parts = re.findall(r"^\*\*(\w+)\.\*\*", text, re.MULTILINE)
        assert parts == ["Context", "Decision", "Consequences", "Considered"], path.name


def test_the_architecture_lists_every_decision_by_its_title() -> None:
    section = ARCHITECTURE.read_text(encoding="utf-8").partition("\n## Decisions\n")[2]
    listed = re.findall(r"^(\d+\. )\[(.+?)\]\(decisions/(.+?)\)$", section, re.MULTILINE)
    titles = [path.read_text(encoding="utf-8").partition("\n")[0] for path in DECISIONS]
    assert [f"# {number}{title}" for number, title, _ in listed] == titles
    assert [name for *_, name in listed] == [path.name for path in DECISIONS]


@pytest.mark.parametrize("path", CHANGES, ids=named)
def test_a_change_has_a_kind_and_is_short(path: Path) -> None:
    assert path.suffixes[-2] in {".added", ".changed", ".fixed", ".removed"}
    text = path.read_text(encoding="utf-8").strip()
    assert not text.startswith("#")
    assert len(text) <= 500
