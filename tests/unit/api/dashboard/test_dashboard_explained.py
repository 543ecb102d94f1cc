from skitter.api.dashboard.explained import parted
from skitter.client.pages import Explained


def one(job: str, state: str) -> Explained:
    return Explained(job=job, url="https://a.test/", state=state, why="so")


def test_jobs_that_do_not_know_an_address_are_apart_from_those_that_do() -> None:
    jobs = [one("a", "done"), one("b", "unknown"), one("c", "queued"), one("d", "unknown")]
    known, others = parted(jobs)
    assert [job.job for job in known] == ["a", "c"]
    assert [job.job for job in others] == ["b", "d"]
