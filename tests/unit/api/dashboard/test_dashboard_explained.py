from typing import Any

from skitter.api.dashboard.explained import parted, standing
from skitter.api.dashboard.i18n.words import Words
from skitter.client.pages import Explained


def one(job: str, state: str, **more: Any) -> Explained:
    return Explained(job=job, url="https://a.test/", state=state, why="so", **more)


def test_jobs_that_do_not_know_an_address_are_apart_from_those_that_do() -> None:
    jobs = [one("a", "done"), one("b", "unknown"), one("c", "queued"), one("d", "unknown")]
    known, others = parted(jobs)
    assert [job.job for job in known] == ["a", "c"]
    assert [job.job for job in others] == ["b", "d"]


def test_the_next_visit_is_shown_where_one_is_due() -> None:
    words = Words("en")
    due = one("a", "scheduled", next_visit="2100-01-31T09:30:00.000Z")
    shown = dict(standing(words, due))["Next visit"]
    assert shown is not None
    assert shown.startswith("2100-01-31 09:30:00 UTC (in ")
    assert dict(standing(words, one("a", "done")))["Next visit"] is None
