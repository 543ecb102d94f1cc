"""What a master remembers of one child."""

import asyncio

import pytest

from skitter.errors import FrontierError
from skitter.frontier.remote import sessions
from skitter.frontier.remote.sessions import Session, SessionFacts


class Work:
    """Calls that are counted and end when they are let."""

    def __init__(self, answer: bytes = b"answer") -> None:
        self.runs = 0
        self.answer = answer
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self) -> bytes:
        self.runs += 1
        await self.gate.wait()
        return self.answer


@pytest.fixture
def session() -> Session:
    return Session("key", "member-1", 42)


async def test_a_call_that_comes_again_gets_the_answer_of_the_first(session: Session) -> None:
    first, again = Work(b"one"), Work(b"two")
    assert await session.once(1, 1, first) == b"one"
    assert await session.once(1, 1, again) == b"one"
    assert (first.runs, again.runs) == (1, 0)


async def test_a_call_that_comes_again_while_it_runs_waits_for_it(session: Session) -> None:
    work = Work()
    work.gate.clear()
    both = [asyncio.create_task(session.once(1, 1, work)) for _ in range(2)]
    await asyncio.sleep(0.01)
    assert session.busy
    work.gate.set()
    assert await asyncio.gather(*both) == [b"answer", b"answer"]
    assert work.runs == 1
    assert not session.busy


async def test_a_call_goes_on_when_its_caller_hangs_up(session: Session) -> None:
    work = Work()
    work.gate.clear()
    caller = asyncio.create_task(session.once(1, 1, work))
    await asyncio.sleep(0.01)
    caller.cancel()
    await asyncio.gather(caller, return_exceptions=True)
    work.gate.set()
    assert await session.once(1, 1, Work(b"second")) == b"answer"


async def test_answers_that_have_arrived_are_let_go(session: Session) -> None:
    for number in range(1, 6):
        await session.once(number, number, Work())
    assert list(session._answers) == [5]
    assert session._kept_bytes == len(b"answer")


async def test_an_answer_is_kept_as_long_as_somebody_waits_for_it(session: Session) -> None:
    await session.once(1, 1, Work(b"kept"))
    for number in range(2, 6):
        await session.once(number, 1, Work())
    assert await session.once(1, 1, Work(b"other")) == b"kept"


async def test_a_call_that_was_settled_is_not_run_again(session: Session) -> None:
    await session.once(1, 1, Work())
    await session.once(2, 2, Work())
    late = Work()
    with pytest.raises(FrontierError, match="settled before"):
        await session.once(1, 1, late)
    assert late.runs == 0


async def test_what_is_kept_is_bounded(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MAX_KEPT_BYTES", 100)
    for number in range(1, 20):
        await session.once(number, 1, Work(b"x" * 30))
    assert session._kept_bytes <= 100
    assert await session.once(19, 1, Work(b"again")) == b"x" * 30
    assert await session.once(1, 1, Work(b"again")) == b"again"


async def test_one_answer_is_kept_however_large_it_is(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MAX_KEPT_BYTES", 10)
    await session.once(1, 1, Work(b"x" * 30))
    assert await session.once(1, 1, Work(b"again")) == b"x" * 30


async def test_the_end_waits_for_calls_and_breaks_off_those_that_hang(session: Session) -> None:
    short, hanging = Work(), Work()
    hanging.gate.clear()
    both = [asyncio.create_task(session.once(n, 1, w)) for n, w in ((1, short), (2, hanging))]
    await asyncio.sleep(0)
    await session.finish(0.05)
    ended = await asyncio.gather(*both, return_exceptions=True)
    assert ended[0] == b"answer"
    assert isinstance(ended[1], asyncio.CancelledError)
    await session.finish(0.05)


def test_a_session_lasts_as_long_as_its_grants_at_least(session: Session) -> None:
    session.heard_at = 100.0
    assert session.silent_until(5.0) == 105.0
    session.owns_until = 130.0
    assert session.silent_until(5.0) == 130.0


def test_the_facts_are_what_a_person_wants_to_see(session: Session) -> None:
    session.heard_at, session.acked = 100.0, 7
    assert session.facts(101.5) == SessionFacts("member-1", 42, 1.5, 0, 7)
