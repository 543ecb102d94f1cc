"""What all jobs know of a URL, however many they are."""

from pathlib import Path

from service import served

from skitter.api.explaining import MOST_JOBS
from skitter.frontier.model import JobEntry
from skitter.job.spec import Job
from skitter.wiring.parts import job_entry

URL = "http://rare.test/page"


async def test_a_url_is_found_in_the_last_of_more_jobs_than_are_told_of(tmp_path: Path) -> None:
    async with served(tmp_path / "state") as here:
        for n in range(MOST_JOBS + 2):
            await here.service.store.control.put_job(entry(f"job{n:03}"))
        last = {"id": "zz-last", "entries": [URL]}
        assert (await here.http.post("/v1/jobs", json=last)).status_code == 201
        told = (await here.http.get("/v1/pages", params={"url": URL})).json()
        assert (told["known"], told["left_out"]) == (True, 3)
        assert [one["job"] for one in told["jobs"][:2]] == ["zz-last", "job000"]
        assert [one["state"] for one in told["jobs"][:2]] == ["queued", "unknown"]
        assert len(told["jobs"]) == MOST_JOBS
        other = (await here.http.get("/v1/pages", params={"url": "http://no.test/"})).json()
        assert (other["known"], other["left_out"]) == (False, 3)
        one = (await here.http.get("/v1/pages", params={"url": URL, "job": "job007"})).json()
        assert (len(one["jobs"]), one["left_out"]) == (1, 0)


def entry(name: str) -> JobEntry:
    return job_entry(Job(id=name, entries=("http://one.test/",)))
