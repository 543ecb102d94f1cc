"""The end of a crawl in words and in JSON."""

from cli_fakes import summary

from skitter.cli.summary import resume_command, summary_json, summary_lines


def text(**changes: object) -> str:
    return "\n".join(summary_lines(summary(**changes), "skitter crawl x"))


def test_json_has_exactly_the_promised_counters() -> None:
    assert summary_json(summary(queued=4)) == {
        "pages": 12,
        "ok": 8,
        "failed": 1,
        "refused": 2,
        "duplicates": 1,
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
