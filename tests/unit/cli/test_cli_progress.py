"""What a person sees while a crawl runs."""

import asyncio
import io
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.cli.meter import WINDOW_S, Meter
from skitter.cli.progress import (
    LiveDisplay,
    PlainDisplay,
    QuietDisplay,
    View,
    make_display,
)
from skitter.crawl.totals import Totals
from skitter.observability.stats import CrawlStats


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def meter(*samples: tuple[float, int, int]) -> Meter:
    made = Meter()
    for sample in samples:
        made.add(*sample)
    return made


def test_speed_is_that_of_the_last_seconds_not_of_the_whole_run() -> None:
    slow_then_fast = [(t * 1.0, t, 0) for t in range(100)]
    slow_then_fast += [(100.0 + t, 100 + 50 * t, 0) for t in range(int(WINDOW_S) + 1)]
    assert meter(*slow_then_fast).speed == pytest.approx(50.0)


def test_one_look_has_no_speed() -> None:
    assert meter((0.0, 10, 5)).speed == 0.0
    assert meter((0.0, 10, 5)).time_left() is None


def test_a_shrinking_queue_ends_when_it_is_empty() -> None:
    assert meter((0.0, 0, 100), (10.0, 30, 80)).time_left() == pytest.approx(40.0)


def test_a_growing_queue_says_nothing_about_the_end() -> None:
    assert meter((0.0, 0, 100), (10.0, 30, 100)).time_left() is None
    assert meter((0.0, 0, 100), (10.0, 30, 900)).time_left() is None


def test_a_page_limit_tells_the_end_once_enough_pages_wait() -> None:
    growing = meter((0.0, 0, 0), (10.0, 20, 500))
    assert growing.time_left(to_limit=100) == pytest.approx(50.0)
    assert growing.time_left(to_limit=501) is None


def test_a_crawl_that_stands_still_has_no_known_end() -> None:
    assert meter((0.0, 5, 100), (10.0, 5, 100)).time_left(to_limit=1) is None


@given(st.lists(st.tuples(st.floats(0, 5), st.integers(0, 50), st.integers(0, 1000)), max_size=60))
def test_estimates_are_never_negative(steps: list[tuple[float, int, int]]) -> None:
    made, now, pages = Meter(), 0.0, 0
    for wait, more, queued in steps:
        now, pages = now + wait, pages + more
        made.add(now, pages, queued)
        left = made.time_left(to_limit=queued // 2)
        assert made.speed >= 0
        assert left is None or left >= 0


def shown(view: View, stats: CrawlStats) -> str:
    lines = [
        " ".join(f"{label} {value}".strip() for label, value in line) for line in view.lines(stats)
    ]
    return "\n".join(lines)


def test_pages_that_were_set_aside_are_shown_once_there_are_any() -> None:
    view, stats = View(), CrawlStats(pages=3)
    assert "set aside" not in dict(view.lines(stats)[0])
    Totals(pages=3, rejected=2).show(stats)
    assert dict(view.lines(stats)[0])["set aside"] == "2"


def test_the_view_shows_every_counter_that_says_something() -> None:
    now = iter([0.0, 1.0, 65.0])
    view = View(monotonic=lambda: next(now), wall_ms=lambda: 1_000)
    stats = CrawlStats(pages=1200, ok=1100, failed=60, queued=9, hosts=2, in_flight=4)
    assert "failed 60" in shown(view, stats)
    stats.status_codes = Counter({200: 1100, 404: 60})
    stats.errors = Counter({"ReadTimeout": 3})
    stats.bytes = 2_500_000
    stats.waiting_until_ms, stats.note = 31_000, "every host rests"
    text = shown(view, stats)
    assert text.splitlines() == [
        "1,200 pages 0.0/s ok 1,100 failed 60",
        "queue 9 hosts 2 in flight 4 2.5 MB elapsed 01:05 left not known yet",
        "status 200 1,100 404 60",
        "errors ReadTimeout 3",
        "waiting 30 s: every host rests",
    ]


def left_of(*looks: tuple[float, int, int]) -> str:
    """Return what a service shows as left after looks at time, pages and what is left."""
    times = iter([0.0, *(at for at, _, _ in looks)])
    view = View(monotonic=lambda: next(times))
    for _, pages, left in looks:
        facts = dict(view.lines(CrawlStats(pages=pages, queued=500, left=left))[1])
    return facts["left"]


def test_a_service_shows_what_its_jobs_have_left() -> None:
    assert left_of((1.0, 0, 0)) == "nothing"
    assert left_of((1.0, 0, 1200)) == "1,200 pages"
    assert left_of((1.0, 0, 1200), (5.0, 20, 1300)) == "1,300 pages"
    assert left_of((1.0, 0, 100), (11.0, 30, 80)) == "80 pages, about 40 s"
    assert left_of((1.0, 0, 100), (11.0, 100, 0)) == "nothing"


def test_rare_kinds_are_summed_up() -> None:
    stats = CrawlStats(status_codes=Counter({200 + n: 10 - n for n in range(8)}))
    [line] = [line for line in View().lines(stats) if line[0][0].startswith("status")]
    assert len(line) == 7
    assert line[-1] == ("other", "7")


def test_a_busy_machine_is_named_as_what_holds_requests_back() -> None:
    stats = CrawlStats(in_flight=12, limit=16)
    assert "in flight 12 (held to 16: the machine is busy)" in shown(View(), stats)
    assert "held" not in shown(View(), CrawlStats(in_flight=12))


def test_of_a_crawl_that_others_work_on_all_is_of_the_job_but_what_is_in_flight_here() -> None:
    stats = CrawlStats(in_flight=3, is_shared=True, run_bytes=10)
    Totals(pages=90, ok=80, failed=10, body_bytes=2_500_000, status_codes={200: 80, 404: 10}).show(
        stats
    )
    seen = shown(View(), stats)
    for words in ("90 pages", "ok 80", "2.5 MB", "in flight 3 here", "status 200 80 404 10"):
        assert words in seen


def test_the_display_suits_the_stream() -> None:
    assert isinstance(make_display(quiet=True, stream=Terminal()), QuietDisplay)
    assert isinstance(make_display(quiet=False, stream=Terminal()), LiveDisplay)
    assert isinstance(make_display(quiet=False, stream=io.StringIO()), PlainDisplay)


async def seen(display: PlainDisplay | LiveDisplay | QuietDisplay, turns: int) -> None:
    """Let ``display`` follow a crawl for some turns of the loop."""
    task = asyncio.ensure_future(display.follow(CrawlStats(pages=7)))
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_log_gets_whole_plain_lines() -> None:
    stream = io.StringIO()
    display = PlainDisplay(View(), stream, every_s=0)
    display.open()
    await seen(display, 10)
    display.say("a [b]word[/b]")
    display.close()
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("7 pages, ")
    assert lines[-1] == "a [b]word[/b]"
    assert "\x1b" not in stream.getvalue()


async def test_a_terminal_is_redrawn_and_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    display = LiveDisplay(View(), stream, every_s=0)
    display.open()
    await seen(display, 10)
    display.say("a [b]word[/b]")
    display.close()
    display.close()
    text = stream.getvalue()
    assert "7 pages" in text
    assert "a [b]word[/b]" in text
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1


async def test_quiet_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    display = make_display(quiet=True)
    display.open()
    display.say("a word")
    await display.follow(CrawlStats())
    display.close()
    assert capsys.readouterr() == ("", "")


async def plain_lines() -> list[str]:
    """Return what a log gets of a crawl in which nothing moves but the clock."""
    stream = io.StringIO()
    ticks = iter(range(10_000))
    await seen(PlainDisplay(View(monotonic=lambda: float(next(ticks))), stream, every_s=0), 20)
    return stream.getvalue().splitlines()


async def test_a_log_is_not_filled_with_lines_that_say_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert len(await plain_lines()) == 1
    monkeypatch.setattr("skitter.cli.progress.SAME_LINE_S", 0.0)
    assert len(await plain_lines()) > 5
