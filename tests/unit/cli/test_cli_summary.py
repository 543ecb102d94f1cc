"""The end of a crawl in words and in JSON."""

from pathlib import Path

import pytest
from cli_fakes import summary

from skitter.cli.summary import resume_command, shared_page_command, summary_json, summary_lines
from skitter.crawl.traps.guard import Cut


def text(**changes: object) -> str:
    return "\n".join(summary_lines(summary(**changes), "skitter crawl x"))


def test_json_has_exactly_the_promised_counters() -> None:
    assert summary_json(summary(queued=4, rejected=2)) == {
        "pages": 12,
        "ok": 8,
        "failed": 1,
        "refused": 2,
        "duplicates": 1,
        "rejected": 2,
        "media": 0,
        "queued": 4,
        "seconds": 1.235,
    }


def test_people_read_what_was_fetched_what_was_not_and_why() -> None:
    lines = text().splitlines()
    assert lines[0] == "Finished: 12 pages from 2 hosts in 1.2 s"
    assert any(line.split()[:2] == ["refused", "2"] for line in lines)
    assert any(line.split() == ["reasons", "robots:", "2", "status", "404:", "1"] for line in lines)
    assert any(line.split() == ["results", "x.jsonl"] for line in lines)
    assert "skitter page URL --data .skitter/x" in text()


def test_a_finished_crawl_does_not_offer_to_go_on() -> None:
    assert "skitter crawl x" not in text()
    assert "still queued" not in text()


def test_only_a_crawl_that_was_finished_before_says_so() -> None:
    assert "Finished before" not in text()
    shown = text(finished_before=True)
    assert shown.startswith("Finished before, nothing was left to fetch (--fresh starts over): 12")
    assert "Finished before" not in text(finished_before=True, stopped_by="interrupted")


def test_an_interrupted_crawl_says_that_all_is_kept_and_how_to_go_on() -> None:
    shown = text(stopped_by="interrupted", queued=3)
    assert shown.startswith("Interrupted, everything so far is kept: 12 pages")
    assert shown.endswith("skitter crawl x")


def test_a_limit_is_named() -> None:
    assert text(stopped_by="pages limit", queued=3).startswith("Stopped by the pages limit: ")


def test_a_crawl_that_must_wait_says_until_when() -> None:
    shown = text(stopped_by="waiting", queued=3, waiting_until="2026-01-02T03:04:05Z")
    assert shown.startswith("Nothing may be fetched for a while: ")
    assert "the next may be asked for at 2026-01-02T03:04:05Z" in shown


def test_without_a_results_file_none_is_named() -> None:
    assert "results" not in text(out=())


def test_kinds_beyond_the_commonest_are_summed_up() -> None:
    assert "other: 3" in text(errors={f"kind {n}": 12 - n for n in range(8)} | {"a": 1, "b": 2})


def test_the_command_that_goes_on_never_starts_over() -> None:
    argv = ["crawl", "https://a.example/?a=1&b=2", "--fresh", "--depth", "2"]
    assert resume_command(argv).endswith("skitter crawl 'https://a.example/?a=1&b=2' --depth 2")


def test_sitemaps_are_told_apart_by_what_became_of_them() -> None:
    assert "sitemaps" not in text()
    assert "3 read, 1,200 URLs of this crawl listed\n" in text(sitemaps=3, sitemap_urls=1200)
    shown = text(sitemaps=0, sitemap_faults=2)
    assert "0 read, 0 URLs of this crawl listed, 2 broken or missing" in shown


def test_traps_are_listed_by_template_with_the_reason() -> None:
    cuts = {f"/t{n}/*": Cut(n, "why", "x") for n in range(1, 12)}
    cuts["/calendar/*"] = Cut(5000, "endless dates", "x")
    shown = text(traps=cuts)
    assert "5,066 links cut in 12 URL templates (--no-traps follows them)" in shown
    first = shown.splitlines().index(next(one for one in shown.splitlines() if "cut in" in one))
    assert shown.splitlines()[first + 1].split() == [
        "5,000",
        "/calendar/*:",
        "endless",
        "dates",
    ]
    assert "/t1/*" not in shown


def test_links_that_were_not_followed_are_counted_by_reason() -> None:
    assert "not followed  scope: 7  suffix: 2" in text(cut={"suffix": 2, "scope": 7})


def test_every_output_and_the_archive_are_named() -> None:
    lines = text(out=(Path("a.jsonl"), Path("b.csv")), warc=Path("warc")).splitlines()
    at = next(number for number, line in enumerate(lines) if line.split()[:1] == ["results"])
    assert [line.split() for line in lines[at : at + 4]] == [
        ["results", "a.jsonl"],
        ["b.csv"],
        ["archive", "warc"],
        ["state", ".skitter/x"],
    ]


@pytest.mark.parametrize(
    ("limit", "hint"),
    [
        ("pages limit", "a larger --pages"),
        ("bytes limit", "a larger --total-bytes"),
        ("time limit", "skitter crawl x"),
    ],
)
def test_a_limit_says_how_to_go_on(limit: str, hint: str) -> None:
    assert text(stopped_by=limit, queued=3).endswith(hint)
    assert text(stopped_by=limit, queued=3).startswith(f"Stopped by the {limit}: ")


def test_a_start_that_brought_nothing_says_why() -> None:
    assert "The start says: refused by robots.txt" in text(ok=0, trouble="refused by robots.txt")


def test_pages_in_a_store_are_asked_for_there_and_no_password_is_shown() -> None:
    typed = {"store": "redis://me:open@h:1/2?namespace=a", "index": "postgresql://me:open@h/db"}
    look = shared_page_command("docs", typed)
    assert look.endswith(
        "skitter page URL --job docs --store 'redis://me@h:1/2?namespace=a'"
        " --index postgresql://me@h/db"
    )
    lines = summary_lines(summary(), "skitter crawl x", look)
    assert f"  one page      {look}" in lines
    assert shared_page_command("docs", {}).endswith("skitter page URL --job docs")
