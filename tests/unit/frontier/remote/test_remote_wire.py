"""The messages between a child and its master."""

import inspect
from typing import Any

import msgspec
import pytest

from skitter.errors import (
    ConfigError,
    DataDirError,
    Fenced,
    FrontierError,
    LeaseLost,
    SinkError,
    SkitterError,
    StoreUnavailable,
    UrlError,
)
from skitter.frontier.base import Frontier, FrontierControl, FrontierReader
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.model import (
    Counts,
    JobEntry,
    JobState,
    Link,
    Receipt,
    Sighting,
    UrlState,
)
from skitter.frontier.remote.client import RemoteFrontier
from skitter.frontier.remote.wire import (
    VERBS,
    VERSION,
    Call,
    OtherVersion,
    Store,
    Welcome,
    checked_token,
    write_error,
)
from skitter.types import Fingerprint, HostKey, JobNumber, PageClass

JOB = JobNumber(3)
HOST = HostKey("a.example")
FP = Fingerprint(2**64 - 1)

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "own": ("member", [1, 2], 5_000),
    "disown": ([],),
    "offer": ([],),
    "claim": ([], 3, 1_000, []),
    "ack": ([], {"file": b"\0\xff"}, None),
    "renew": ([], 7),
    "put_job": (JobEntry(id="ü", spec='{"a": 1}', state=JobState.PAUSE),),
    "set_job_state": (JOB, JobState.CANCEL),
    "drop_job": (JOB,),
    "clear": (JOB, PageClass.NAV),
    "forget": (JOB, HOST, FP, False),
    "set_host": (HOST, None, 2, 2**41),
    "jobs": (),
    "counts": (JOB, "example.com"),
    "domains": (JOB, 9),
    "hosts_with_work": (),
    "hosts": (JOB,),
    "look": (JOB, HOST, FP),
    "seen": (JOB, [(HOST, FP)]),
    "mark": ("name",),
    "marks": ("na",),
    "note": (JOB, HOST, FP),
    "notes": (JOB, b"\0", 5),
    "tallies": (JOB,),
    "contents": (JOB, [b"x", b""]),
    "notes_of": ([(JOB, HOST, FP)],),
    "publish": ([b"one", b"\xff"],),
    "events": ("17-3", 5, 100),
    "latest_event": (),
    "count": ({"pages|host=a.example": 2}, 2**41),
    "series": ("pages", "10s", 0, 2**41, True),
    "count_urls": ({"http://a/": 1},),
    "url_counts": (["http://a/"],),
    "top_urls": (9,),
    "stirs": (4, 1_000),
    "hello": ("member", 1234),
    "beat": (),
    "bye": (),
}
ANSWERS: dict[str, Any] = {
    "offer": Receipt(1, (2, 3), 4, 5, 6),
    "renew": [2**63],
    "enter": -1,
    "put_job": JOB,
    "set_host": None,
    "forget": True,
    "jobs": {JOB: JobEntry(id="job", queue_bound=4)},
    "counts": Counts(1, 2, 3, 4, 5, 6),
    "domains": [("example.com", Counts(queued=1))],
    "look": Sighting(
        UrlState.QUEUED, b"note", Link("http://a/", FP, HOST, JOB, page_class=PageClass.NAV), 2
    ),
    "mark": None,
    "marks": {"file": b"12"},
    "notes": ([b"one", b"two"], b"next"),
    "tallies": {"pages": 12},
    "contents": ["http://a/", None],
    "notes_of": [b"", b">http://a/"],
    "events": [("1", b"\xff"), ("17-3", b"")],
    "latest_event": "0",
    "series": {"pages|job=ü": {2**41: 3, 0: -1}},
    "url_counts": [0, 7],
    "top_urls": [("http://a/", 7)],
    "stirs": 5,
    "hello": Welcome(
        secret=b"\xff" * 16,
        now_ms=2**41,
        epoch=3,
        version=3 << 32,
        silence_ms=5_000,
        settings={"agent": "x", "list": [1, None, {"deep": True}]},
    ),
}


def verbs_of(protocol: type) -> set[str]:
    return {name for name, it in vars(protocol).items() if inspect.iscoroutinefunction(it)}


def test_every_verb_of_the_seam_can_be_called() -> None:
    for protocol in (Frontier, FrontierControl, FrontierReader):
        assert verbs_of(protocol)
        assert verbs_of(protocol) <= VERBS.keys()


@pytest.mark.parametrize("protocol", [Frontier, FrontierControl, FrontierReader])
def test_the_client_has_every_verb_with_the_parameters_of_the_seam(protocol: type) -> None:
    for name in verbs_of(protocol):
        ours = inspect.signature(getattr(RemoteFrontier, name))
        assert ours == inspect.signature(getattr(protocol, name)), name


def test_questions_may_be_asked_twice_and_everything_else_counts() -> None:
    assert {verb.name for verb in VERBS.values() if not verb.changes} == {
        *verbs_of(FrontierReader),
        "hello",
        "beat",
        "bye",
    }


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_arguments_arrive_as_they_were(name: str) -> None:
    verb = VERBS[name]
    call = verb.read_call(verb.write_call(Call(7, 5, ARGUMENTS[name]), 0.0), 0.0)
    assert (call.number, call.settled) == (7, 5)
    assert call.arguments == list(ARGUMENTS[name])


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_answers_arrive_as_they_were(name: str) -> None:
    verb = VERBS[name]
    assert verb.read_answer(verb.write_answer(ANSWERS[name], 0.0), 0.0) == ANSWERS[name]


async def test_a_verb_is_run_with_its_arguments_where_they_belong() -> None:
    class Noting:
        async def claim(self, *ordered: Any, **named: Any) -> Any:
            return ordered, named

    ran = await VERBS["claim"].run(Noting(), [[], 3, 1_000, []])
    assert ran == (([], 3), {"lease_ms": 1_000, "freed": []})


@pytest.mark.parametrize(
    "kind",
    [Fenced, LeaseLost, StoreUnavailable, ConfigError, SinkError, FrontierError],
)
def test_an_error_is_raised_again_on_the_other_side(kind: type[SkitterError]) -> None:
    with pytest.raises(kind, match=r"^what was wrong$") as raised:
        VERBS["offer"].read_answer(write_error(kind("what was wrong")), 0.0)
    assert type(raised.value) is kind


@pytest.mark.parametrize("error", [DataDirError("in use"), UrlError("http://a/", "bad")])
def test_errors_without_a_name_of_their_own_are_errors_of_the_frontier(error: SkitterError) -> None:
    with pytest.raises(FrontierError) as raised:
        VERBS["offer"].read_answer(write_error(error), 0.0)
    assert type(raised.value) is FrontierError
    assert str(raised.value) == str(error)


@pytest.mark.parametrize("rest", [[], [1, 2, [[]]], ["other", {"shape": True}]])
def test_a_message_of_another_version_is_refused_in_clear_words(rest: list[Any]) -> None:
    message = msgspec.msgpack.encode([VERSION + 1, *rest])
    wanted = f"version {VERSION + 1} .* version {VERSION}; use the same release"
    with pytest.raises(OtherVersion, match=wanted):
        VERBS["jobs"].read_call(message, 0.0)
    with pytest.raises(OtherVersion, match=wanted):
        VERBS["jobs"].read_answer(message, 0.0)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\xc1",
        b"<html>",
        msgspec.msgpack.encode([VERSION]),
        msgspec.msgpack.encode([VERSION, 1, 0, ["not a job", None]]),
        msgspec.msgpack.encode([VERSION, 1, 0, [1]]),
        msgspec.msgpack.encode({"version": VERSION}),
    ],
)
def test_nonsense_is_refused(message: bytes) -> None:
    with pytest.raises(FrontierError, match="the call counts cannot be read"):
        VERBS["counts"].read_call(message, 0.0)
    with pytest.raises(FrontierError, match="cannot be read"):
        VERBS["counts"].read_answer(message, 0.0)


def test_an_error_of_a_kind_to_come_is_still_an_error() -> None:
    message = msgspec.msgpack.encode([VERSION, "something new", "its words"])
    with pytest.raises(FrontierError, match=r"^its words$"):
        VERBS["counts"].read_answer(message, 0.0)


@pytest.mark.parametrize("token", ["two words", "zeile\n", "schlüssel"])
def test_a_token_that_no_header_takes_is_refused_and_not_repeated(token: str) -> None:
    with pytest.raises(ConfigError, match=r"^token: wanted") as raised:
        checked_token(token)
    assert token not in str(raised.value)


def test_embedded_and_remote_frontier_are_both_whole_stores() -> None:
    stores: list[type[Store]] = [EmbeddedFrontier, RemoteFrontier]
    assert len(stores) == 2
