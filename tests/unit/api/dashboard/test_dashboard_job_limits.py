import pytest

from skitter.api.dashboard.i18n.words import Words
from skitter.api.dashboard.job_limits import at_limit, limit_of, next_limit, shown_state, whole
from skitter.api.dashboard.jobs import row_of
from skitter.client.jobs import JobDetail


def job(**said: object) -> JobDetail:
    counted = ("pages", "ok", "failed", "refused", "duplicates", "rejected", "queued", "leased")
    more = ("scheduled", "done", "dead", "dropped", "priority", "hosts", "bytes", "sitemaps")
    words = {"id": "docs", "kind": "site", "owner": "", "scope": "host", "order": "fifo"}
    rest: dict[str, object] = {
        "entries": [],
        "depth": None,
        "labels": {},
        "limits": {},
        "records": [],
    }
    rest |= {"status_codes": {}, "errors": {}}
    made = {**dict.fromkeys(counted + more, 0), **words, **rest}
    return JobDetail.model_validate({**made, "state": "running", "stopped_by": "", **said})


STOPPED = job(
    state="finished", stopped_by="pages limit", limits={"pages": 1000}, pages=1000, queued=70
)


def test_a_job_at_its_limit_is_not_shown_as_finished() -> None:
    assert shown_state(STOPPED) == "limited"
    assert row_of(STOPPED, Words("en"))["state_tone"] == "warn"
    assert row_of(STOPPED, Words("en"))["state_text"] == "at its limit"


@pytest.mark.parametrize(
    ("stopped_by", "state"),
    [("", "running"), ("", "paused"), ("finished", "finished"), ("cancelled", "cancelled")],
)
def test_other_jobs_are_shown_as_they_stand(stopped_by: str, state: str) -> None:
    one = job(stopped_by=stopped_by, state=state)
    assert (limit_of(one), shown_state(one)) == (None, state)
    assert at_limit(one, Words("en")) == ""


def test_the_limit_is_told_with_its_number() -> None:
    said = "Stopped by its limit of 1,000 pages. 70 URLs still wait."
    assert at_limit(STOPPED, Words("en")) == said
    paused = job(state="paused", stopped_by="time limit", limits={"time": 60})
    assert "60 秒" in at_limit(paused, Words("zh"))


def test_more_is_proposed_than_the_job_has() -> None:
    assert next_limit(STOPPED, "pages") == 2000
    assert next_limit(job(limits={"bytes": 10}, bytes=700), "bytes") == 1400
    assert next_limit(job(limits={"time": 60}), "time") == 60


def test_limits_are_whole_numbers_where_they_are() -> None:
    assert [whole(5.0), whole(0.5), whole(None)] == [5, 0.5, None]
