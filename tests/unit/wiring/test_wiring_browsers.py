from pathlib import Path

import pytest

from skitter.errors import ConfigError
from skitter.job.spec import Job, check_job
from skitter.wiring.browsers import Browsers, refuse_without_browser
from skitter.wiring.jobs import checked

ENTRY = {"entries": ["http://site.test/"]}


def job(**fields: object) -> Job:
    return check_job({**ENTRY, **fields}, "job")


PLAIN, SHOWN = job(), job(http={"render": True})
SOME = job(links=[{"allow": ["/app/"], "render": True}, {}])


async def test_the_jobs_of_a_process_share_a_browser_and_the_last_ends_it() -> None:
    browsers = Browsers()
    assert browsers.of(PLAIN) is None
    one, other = browsers.of(SHOWN), browsers.of(SOME)
    assert one is not None
    assert one is other
    await browsers.leave(one)
    assert browsers.of(SHOWN) is one
    await browsers.leave(one)
    await browsers.leave(one)
    again = browsers.of(SHOWN)
    assert again is not one


@pytest.mark.parametrize("wanted", [SHOWN, SOME])
def test_without_a_browser_a_job_that_wants_one_is_refused(
    wanted: Job, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SKITTER_CHROMIUM", str(tmp_path / "none"))
    refuse_without_browser(PLAIN)
    with pytest.raises(ConfigError, match="SKITTER_CHROMIUM"):
        refuse_without_browser(wanted)
    with pytest.raises(ConfigError, match="SKITTER_CHROMIUM"):
        checked(wanted.model_dump(mode="json", by_alias=True, exclude_none=True), "job")
