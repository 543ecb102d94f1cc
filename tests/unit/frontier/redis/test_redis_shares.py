"""How a member shares its claims out among jobs: counts, and whom to ask for how many."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from skitter.frontier.model import Lease
from skitter.frontier.redis.shares import MOST_KEPT, Shares, share_out
from skitter.types import Fingerprint, HostKey, JobNumber, PageClass

A, B = JobNumber(1), JobNumber(2)


def lease(job: int, priority: int = 5) -> Lease:
    return Lease(
        id=1,
        url="https://a.test/",
        fp=Fingerprint(1),
        host=HostKey("a.test"),
        job=JobNumber(job),
        slot=0,
        fence=1,
        page_class=PageClass.DATA,
        priority=priority,
        depth=0,
        attempts=0,
        lost=0,
        visit=1,
        referrer="",
        found_s=0,
        expires_at=0.0,
    )


def test_what_a_job_is_owed_is_no_more_than_one_claim() -> None:
    shares = Shares()
    shares.begin(8)
    shares.take([lease(A)] * 100)
    assert (shares.of(4, A), shares.of(4, B)) == (100, 92)
    shares.take([lease(B)])
    assert shares.of(4, B) == 93
    assert shares.words() == "4:1:8,4:2:1"


def test_priorities_are_counted_apart() -> None:
    shares = Shares()
    shares.take([lease(A, priority=9)] * 50)
    assert shares.of(4, A) == shares.of(4, B)


def test_one_job_alone_needs_no_words() -> None:
    shares = Shares()
    shares.take([lease(A)] * 5)
    assert shares.words() == ""


def test_jobs_that_are_owed_all_they_can_be_are_forgotten() -> None:
    shares = Shares()
    for job in range(1, 2 * MOST_KEPT):
        shares.take([lease(job)])
    shares.take([lease(1)] * 100)
    shares.begin(4)
    assert shares.words() == "", "but for the one that was served"


def test_one_job_is_asked_for_in_all_tags_alike() -> None:
    jobs = dict.fromkeys(range(20), (A,))
    assert share_out(list(range(20)), jobs, lambda _: 0, 18, 8) == {
        **dict.fromkeys(range(2), 3),
        **dict.fromkeys(range(2, 8), 2),
    }


def test_a_job_of_few_tags_is_asked_for_as_often_as_one_of_many() -> None:
    jobs = dict.fromkeys(range(50), (A,)) | {50: (A, B)}
    asked = share_out(list(range(51)), jobs, lambda _: 0, 16, 8)
    assert asked.pop(50) == 8
    assert sum(asked.values()) == 8


def test_who_was_served_least_is_next() -> None:
    jobs = {1: (A,), 2: (B,)}
    served = {A: 10, B: 4}
    assert share_out([1, 2], jobs, served.__getitem__, 4, 8) == {2: 4}


@given(
    st.dictionaries(
        st.integers(0, 20),
        st.lists(st.integers(1, 12).map(JobNumber), min_size=1, max_size=4),
        min_size=1,
    ),
    st.integers(1, 80),
    st.integers(1, 8),
)
def test_something_is_asked_for_and_never_too_much(
    jobs: dict[int, list[JobNumber]], want: int, at_once: int
) -> None:
    asked = Counter(share_out(list(jobs), jobs, lambda job: job, want, at_once))
    assert 0 < asked.total() <= want
    assert len(asked) <= at_once
    assert asked.keys() <= jobs.keys()
    assert min(asked.values()) > 0
