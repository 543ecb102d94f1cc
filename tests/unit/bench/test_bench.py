"""The judge of the comparison, on a small rendered web."""

import gzip
import json
import sys
from html import escape
from pathlib import Path

import pytest
from bench import article, render
from bench.judge import Records, Requests, judge_log, judge_records
from bench.measure import Cost, Program, measured
from bench.redis_report import redis_bars, redis_ratios
from bench.render import Manifest
from bench.report import as_json, bars, faults, ratio
from bench.results import Run
from bench.run import Places

from skitter.demo.bulk import BulkPlan, bulk_web
from skitter.demo.truth import Plan, ground_truth


@pytest.fixture(params=[1, 3])
def manifest(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Manifest:
    monkeypatch.setattr(render, "WEBS", tmp_path)
    return render.rendered(150, request.param)


def log_line(manifest: Manifest, url: str, status: int = 200, at: float = 1.0) -> str:
    host, _, path = url.removeprefix("http://").partition("/")
    return f"{at:.3f} {host.partition(':')[0]} {status} /{path} 2000\n"


def test_pages_of_a_folder_are_judged_and_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    story = "".join(f"<p>{'A sentence of the story, and of some length. ' * 4}" for _ in range(8))
    links = "".join(f'<li><a href="/{n}">A place {n}</a>' for n in range(60))
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "story.html.gz").write_bytes(gzip.compress(story.encode()))
    (tmp_path / "list.html").write_text(f"<ul>{links}</ul>")
    (tmp_path / "facts.json").write_text(json.dumps({"list": {"url": "https://example.com/"}}))
    assert article.main([str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert told.startswith("2 pages, ")
    assert "1 of 2 judged to be articles (50.0%)" in told
    assert article.main([str(tmp_path / "nowhere")]) == 2


def test_a_manifest_holds_exactly_the_pages_of_the_ground_truth(manifest: Manifest) -> None:
    plan = BulkPlan(150, len(manifest.addresses))
    web = bulk_web(plan, manifest.addresses, manifest.port)
    assert manifest.titles.keys() == ground_truth(web, Plan(scope="any")).pages


def test_every_page_of_a_manifest_is_a_file_under_its_host(manifest: Manifest) -> None:
    for url, title in manifest.titles.items():
        host, _, path = url.removeprefix("http://").partition("/")
        file = Path(manifest.folder) / "files" / host.partition(":")[0] / path
        assert f"<title>{escape(title)}</title>" in file.read_text()


def test_a_web_is_rendered_once(manifest: Manifest) -> None:
    page = next(Path(manifest.folder).rglob("*.html"))
    before = page.stat().st_mtime_ns
    assert render.rendered(150, len(manifest.addresses)) == manifest
    assert page.stat().st_mtime_ns == before


def test_a_log_of_every_page_once_is_exact(manifest: Manifest) -> None:
    lines = [log_line(manifest, url, at=n / 10) for n, url in enumerate(manifest.titles)]
    judged = judge_log(manifest, lines)
    assert (judged.pages, judged.missed, judged.twice, judged.forbidden) == (150, 0, 0, 0)
    assert judged.seconds == pytest.approx(14.9)


def test_missed_doubled_and_forbidden_fetches_are_counted(manifest: Manifest) -> None:
    first, second, *_ = manifest.titles
    origin = first.removesuffix("/index.html")
    lines = [
        log_line(manifest, first),
        log_line(manifest, first + "?"),
        log_line(manifest, second, status=500),
        log_line(manifest, f"{origin}/private/1.html"),
        log_line(manifest, f"{origin}/missing/1.html", status=404),
    ]
    judged = judge_log(manifest, lines)
    assert (judged.pages, judged.missed, judged.twice, judged.forbidden) == (1, 149, 1, 1)


def test_records_are_right_once_and_under_their_final_address(manifest: Manifest) -> None:
    lines = [
        json.dumps({"url": url, "status": 200, "title": title}).encode()
        for url, title in manifest.titles.items()
    ]
    assert judge_records(manifest, lines) == Records(missing=0, twice=0, wrong=0)
    moved = json.loads(lines[-1])
    moved |= {"final_url": moved["url"], "url": "http://127.0.0.1/old", "outcome": "ok"}
    assert judge_records(manifest, [*lines[:-1], json.dumps(moved).encode()]) == Records(
        missing=0, twice=0, wrong=0
    )


def test_missing_doubled_and_wrong_records_are_counted(manifest: Manifest) -> None:
    first, second, *_ = manifest.titles
    lines = [
        {"url": first, "status": 200, "title": manifest.titles[first]},
        {"url": first, "status": 200, "title": manifest.titles[first]},
        {"url": second, "status": 200, "title": "Another"},
        {"url": "http://127.0.0.1/missing", "status": 404, "title": "Not found"},
    ]
    encoded = [*(json.dumps(line).encode() for line in lines), b'{"torn']
    assert judge_records(manifest, encoded) == Records(missing=148, twice=1, wrong=2)


def run(crawler: str, pages_per_s: float, cpu_ms: float = 0.5, **changes: object) -> Run:
    pages = 1000
    values = {
        "crawler": crawler,
        "hosts": 1,
        "web_pages": pages,
        "round": 1,
        "cost": Cost(
            wall_s=1, cpu_s=cpu_ms * pages / 1000, peak_rss_mb=50, exit_code=0, timed_out=False
        ),
        "requests": Requests(
            pages=pages, missed=0, twice=0, forbidden=0, requests=pages, seconds=pages / pages_per_s
        ),
        "records": Records(missing=0, twice=0, wrong=0),
        "last_words": "",
    }
    return Run(**(values | changes))  # type: ignore[arg-type]


def test_speed_is_compared_inside_a_round() -> None:
    runs = [
        run("skitter", 1000), run("scrapy", 100),
        run("skitter", 500, round=2), run("scrapy", 25, round=2),
        run("skitter", 900, round=3), run("scrapy", 75, round=3),
    ]  # fmt: skip
    assert ratio(runs, "scrapy", many=False) == pytest.approx(12)
    assert ratio(runs, "wget2", many=False) is None


@pytest.mark.parametrize(
    ("skitter", "cpu_ms", "met"), [(1700, 0.5, True), (1700, 0.8, False), (1500, 0.5, False)]
)
def test_a_bar_is_met_or_missed(skitter: float, cpu_ms: float, met: bool) -> None:
    runs = [run("skitter", skitter, cpu_ms), run("wget2", 2000), run("scrapy", 150)]
    assert all(bar.met for bar in bars(runs)) is met
    assert as_json(runs)["bars"][0]["value"] == pytest.approx(cpu_ms)


def test_a_crawl_that_is_not_exact_is_a_fault_of_skitter_but_not_of_a_peer() -> None:
    sloppy = Requests(pages=1000, missed=0, twice=1, forbidden=0, requests=1001, seconds=1)
    assert faults([run("wget2", 900, requests=sloppy)]) == []
    (fault,) = faults([run("skitter", 900, requests=sloppy)])
    assert "not exact" in fault


def test_a_crawler_that_fails_is_named_with_its_last_words() -> None:
    failed = Cost(wall_s=1, cpu_s=1, peak_rss_mb=50, exit_code=3, timed_out=False)
    (fault,) = faults([run("wget2", 900, cost=failed, last_words="no such thing")])
    assert "no such thing" in fault


def test_two_members_with_a_core_each_are_to_be_faster() -> None:
    runs = [
        run("skitter-redis-1", 1200), run("skitter-redis-1", 1000, hosts=100),
        run("skitter-redis-2", 1700, hosts=100),
    ]  # fmt: skip
    assert [bar.met for bar in redis_bars(runs)] == [True, False, True]
    assert redis_bars(runs)[1].value == pytest.approx(1.7)


def test_a_page_of_two_members_on_one_core_is_to_cost_as_much_as_with_one() -> None:
    two = run("skitter-redis-2", 1000, 0.9, hosts=100, members=2, members_have_cores=False)
    runs = [run("skitter-redis-1", 900), run("skitter-redis-1", 1000, 0.8, hosts=100), two]
    assert [bar.met for bar in redis_bars(runs)] == [False, True, False]
    (line,) = redis_ratios(runs, many=True)
    assert line == "skitter-redis-2: 1.00 × the pages/s of skitter-redis-1, 1.12 × the CPU per page"


@pytest.mark.parametrize(
    ("cores", "store", "members"),
    [([5], 5, (5,)), ([0, 1], 0, (1,)), ([0, 1, 2], 0, (1, 2)), ([0, 1, 2, 3], 3, (1, 2))],
)
def test_cores_are_shared_out_as_far_as_they_go(
    cores: list[int], store: int, members: tuple[int, ...]
) -> None:
    assert Places.on(cores) == Places(server=cores[0], store=store, members=members)


def python(code: str, **changes: object) -> Program:
    return Program(command=[sys.executable, "-c", code], **changes)  # type: ignore[arg-type]


def test_what_a_program_costs_is_measured_with_its_children(tmp_path: Path) -> None:
    child = "print(len(b'x' * 60_000_000))"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    cost = measured([python(code)], cores=[0], folder=tmp_path, timeout_s=60)
    assert cost.exit_code == 0
    assert cost.peak_rss_mb > 60
    assert cost.cpu_s > 0
    assert (tmp_path / "output.txt").read_text() == "60000000\n"


def test_a_program_that_stays_is_told_to_end_after_the_others(tmp_path: Path) -> None:
    other = tmp_path / "output-2.txt"
    # It works until the other one is there, and a little longer.
    busy = (
        "import pathlib, time\n"
        f"other = pathlib.Path({str(other)!r})\n"
        "while not other.exists() or not other.read_text(): time.sleep(0.01)\n"
        "end = time.process_time() + 0.2\n"
        "while time.process_time() < end: pass"
    )
    stays = "import signal\nprint('here', flush=True)\nsignal.pause()"
    programs = [python(busy), python(stays, stays=True, good_exits=frozenset({-15}))]
    cost = measured(programs, cores=[0], folder=tmp_path, timeout_s=60)
    assert cost.exit_code == 0
    assert not cost.timed_out
    assert cost.cpu_s > 0.2
    assert other.read_text() == "here\n"


def test_a_program_that_fails_beside_another_is_noticed(tmp_path: Path) -> None:
    programs = [python("pass"), python("raise SystemExit(7)")]
    assert measured(programs, cores=[0], folder=tmp_path, timeout_s=60).exit_code == 7


def test_a_program_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    cost = measured([python("while True: pass")], cores=[0], folder=tmp_path, timeout_s=0.2)
    assert cost.timed_out
    assert cost.exit_code != 0
