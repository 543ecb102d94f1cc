"""Orders from afar: left in the store, carried out once, answered there."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from manager_rig import MemoryMarks, Node, as_store, plans

from skitter.clock import SystemClock
from skitter.cluster.manager import notices, orders, post
from skitter.cluster.manager import roster as roster_module
from skitter.cluster.manager.notices import (
    AWAY_MS,
    BOXES,
    ReadLogs,
    Report,
    answer_mark,
    bell_mark,
    decode_pulse,
    decode_report,
    encode,
    list_mark,
    order_mark,
    pulse_mark,
)
from skitter.cluster.manager.orders import NodeOrders
from skitter.cluster.manager.post import Post
from skitter.errors import ConfigError, FrontierError
from skitter.testing.virtual_clock import VirtualClock


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster_module, "FIRST_REST_S", 0.02)
    monkeypatch.setattr(post, "BELL_S", 0.02)
    monkeypatch.setattr(post, "TROUBLE_S", 0.05)
    monkeypatch.setattr(orders, "LOOK_S", 0.01)


@asynccontextmanager
async def served(node: Node, marks: MemoryMarks) -> AsyncIterator[Node]:
    """Let a node have its post."""
    carrier = Post(as_store(marks), as_store(marks), SystemClock())
    async with node:
        running = asyncio.create_task(carrier.run(node.manager))
        try:
            await node.until(lambda: pulse_mark(node.manager.name) in marks.kept)
            yield node
        finally:
            running.cancel()
            await asyncio.wait([running])
            await carrier.say_goodbye(node.manager)


def operator(marks: MemoryMarks, patience_s: float = 5.0) -> NodeOrders:
    return NodeOrders(as_store(marks), as_store(marks), SystemClock(), patience_s=patience_s)


async def test_a_node_is_started_stopped_and_read_from_afar(tmp_path: Path) -> None:
    marks = MemoryMarks()
    async with served(Node(tmp_path, plans(wanted=0, limit=2)), marks) as node:
        afar = operator(marks)
        listed = await afar.start("a", kind="news", priority=9, count=3)
        assert [worker.id for worker in listed] == [1, 2, 3]
        await node.running(2)
        await node.until(lambda: len(decode_report(marks.kept[list_mark("a")]).workers) == 3)
        state = await afar.node("a")
        assert (state.health, state.is_there, state.report.limit) == ("ok", True, 2)
        await node.until(lambda: node.ledger.log_of(1).exists())
        stopped = await afar.stop("a", 1)
        assert stopped.state.value == "stopping"
        await node.until(lambda: len(node.workers("finished")) == 1)
        with pytest.raises(ConfigError, match="node a: worker 1: it is gone already: stopped"):
            await afar.stop("a", 1)
        with pytest.raises(ConfigError, match="node a: worker 99: there is none of that number"):
            await afar.stop("a", 99)
        logs = await afar.logs("a", ReadLogs(worker=2))
        assert logs[2].text == "place 2 kind news\n"
        used = [
            marks.kept.get(mark("a", n)) for mark in (order_mark, answer_mark) for n in range(8)
        ]
        assert not any(used), "boxes are left empty"
    assert (await operator(marks).node("a")).health == "stopped"


async def test_what_cannot_be_is_refused_before_anybody_is_asked() -> None:
    marks = MemoryMarks()
    afar = operator(marks)
    for given, said in (
        ({"kind": "sites"}, "kind 'sites'"),
        ({"priority": 10}, "priority 10"),
        ({"count": 0}, "count 0; wanted 1 or more"),
    ):
        with pytest.raises(ConfigError, match=said):
            await afar.start("a", **given)
    assert marks.kept == {}


async def test_a_name_that_is_none_is_named_with_the_nearest() -> None:
    marks = MemoryMarks()
    afar = operator(marks)
    with pytest.raises(ConfigError, match="node east: there is none of that name; known: none"):
        await afar.start("east")
    for name in ("east-1", "north-1"):
        marks.kept[list_mark(name)] = encode(Report(name=name, session="s"))
    with pytest.raises(ConfigError, match=r"did you mean east-1\?"):
        await afar.node("esst-1")
    with pytest.raises(ConfigError, match="known: east-1, north-1"):
        await afar.node("zzz")


async def test_a_node_that_is_away_is_told_nothing(tmp_path: Path) -> None:
    marks = MemoryMarks()
    async with served(Node(tmp_path, plans()), marks):
        at_ms = decode_pulse(marks.kept[pulse_mark("a")]).at_ms
        clock = VirtualClock(at_ms + AWAY_MS + 1000)
        afar = NodeOrders(as_store(marks), as_store(marks), clock)
        assert (await afar.node("a")).health == "away"
        with pytest.raises(FrontierError, match="node a: it is away, and was heard of 9 s ago"):
            await afar.start("a")
    before = dict(marks.kept)
    with pytest.raises(FrontierError, match="node a: it was stopped; start it there with"):
        await operator(marks).stop("a", 1)
    with pytest.raises(FrontierError) as refused:
        await operator(marks).logs("a", ReadLogs())
    report = decode_report(marks.kept[list_mark("a")])
    folder = Path(report.workers[0].log).parent
    said = f"node a: it was stopped; its logs are on {report.machine or 'its machine'}, in {folder}"
    assert str(refused.value) == said
    assert marks.kept == before


async def test_a_node_that_does_not_answer_is_waited_for_until_the_deadline(tmp_path: Path) -> None:
    marks = MemoryMarks()
    async with served(Node(tmp_path, plans(wanted=0)), marks):
        pass
    report = decode_report(marks.kept[list_mark("a")])
    alive = Report(name="a", session=report.session)
    marks.kept[list_mark("a")] = encode(alive)
    with pytest.raises(FrontierError, match=r"node a: no answer within 0.2 s"):
        await operator(marks, 0.2).start("a")
    # The order is past its deadline: whoever finds it now leaves it alone.
    async with served(Node(tmp_path, plans(wanted=0)), marks) as node:
        await asyncio.sleep(0.2)
        assert node.manager.report().workers == ()


async def test_orders_of_many_at_once_are_all_carried_out_once(tmp_path: Path) -> None:
    marks = MemoryMarks()
    async with served(Node(tmp_path, plans(wanted=0, limit=1)), marks) as node:
        givers = [operator(marks) for _ in range(3 * BOXES)]
        listed = await asyncio.gather(*(giver.start("a") for giver in givers))
        numbers = sorted(worker.id for workers in listed for worker in workers)
        assert numbers == list(range(1, 3 * BOXES + 1))
        assert len(node.manager.report().workers) == 3 * BOXES


async def test_an_order_that_was_overwritten_is_left_again(tmp_path: Path) -> None:
    marks = MemoryMarks()
    lost: list[str] = []

    def overwrite(written: Mapping[str, bytes]) -> None:
        """Play somebody who writes into the same box a moment later."""
        for name, value in written.items():
            if name.startswith("nodes:order:") and value and len(lost) < 3:
                lost.append(name)
                asyncio.get_running_loop().call_soon(marks.kept.__setitem__, name, b"")

    async with served(Node(tmp_path, plans(wanted=0)), marks) as node:
        marks.before_write = overwrite
        await operator(marks).start("a")
        assert len(lost) == 3
        assert len(node.manager.report().workers) == 1


async def test_an_order_that_is_left_again_rings_anew(tmp_path: Path) -> None:
    marks = MemoryMarks()
    rings: list[bytes] = []

    def overwrite(written: Mapping[str, bytes]) -> None:
        """Play somebody who is a moment faster than the node, once."""
        if bell_mark("a") not in written:
            return
        rings.append(written[bell_mark("a")])
        if len(rings) == 1:
            [name] = [name for name in written if name.startswith("nodes:order:")]
            asyncio.get_running_loop().call_soon(marks.kept.__setitem__, name, b"")

    async with served(Node(tmp_path, plans(wanted=0)), marks):
        marks.before_write = overwrite
        await operator(marks).start("a")
    assert len(set(rings)) == len(rings) == 2


async def test_a_store_that_was_away_is_told_when_it_is_back(tmp_path: Path) -> None:
    marks = MemoryMarks()
    async with served(Node(tmp_path, plans(wanted=1)), marks) as node:
        await node.running(1)
        marks.away = True
        marks.kept.clear()
        await asyncio.sleep(0.2)
        [worker] = await node.running(1)
        assert worker.starts == 1, "workers go on meanwhile"
        marks.away = False
        node.manager.changed.set()
        await node.until(lambda: list_mark("a") in marks.kept)
        await operator(marks).start("a")
        await node.running(2)


async def test_nonsense_in_the_store_harms_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    marks = MemoryMarks()
    async with served(Node(tmp_path, plans(wanted=0)), marks) as node:
        marks.kept[order_mark("a", 0)] = b'{"id": 7}'
        marks.kept[answer_mark("a", 1)] = b"?"
        marks.kept[bell_mark("a")] = b"!"
        marks.kept[list_mark("b")] = b"{"
        marks.kept[pulse_mark("b")] = b"{"
        afar = operator(marks)
        await node.until(lambda: "an order that cannot be read" in caplog.text)
        await afar.start("a")
        states = {state.name: state.health for state in await afar.nodes()}
        assert states == {"a": "ok", "b": "speaks version 0"}
        with pytest.raises(FrontierError, match="another release of Skitter"):
            await afar.start("b")
        assert [state.name for state in await afar.refresh(["a", "gone"])] == ["a"]


async def test_a_name_belongs_to_one_node_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(post, "PULSE_S", 0.05)
    marks = MemoryMarks()
    carrier = Post(as_store(marks), as_store(marks), SystemClock())
    async with served(Node(tmp_path, plans()), marks) as node:
        session = node.manager.report().session
        with pytest.raises(ConfigError, match="node name 'a': another one on box uses it"):
            await carrier.check_name("a", "another")
        await carrier.check_name("a", session)
        await carrier.check_name("b", "")
    await carrier.check_name("a", "another")
    # One that was killed says nothing more, and is waited for until it is away.
    monkeypatch.setattr(post, "AWAY_MS", 300)
    killed = decode_report(marks.kept[list_mark("a")])
    marks.kept[list_mark("a")] = encode(Report(name="a", session=killed.session, machine="box"))
    at_ms = SystemClock().now_ms()
    marks.kept[pulse_mark("a")] = encode(notices.Pulse(session=killed.session, at_ms=at_ms))
    async with asyncio.timeout(30):
        await carrier.check_name("a", "another")
    assert SystemClock().now_ms() - at_ms >= 300


@pytest.mark.parametrize(("one", "other"), [("b", "a"), ("a", "b")])
async def test_of_two_nodes_that_begin_under_one_name_the_later_gives_way(
    tmp_path: Path, one: str, other: str
) -> None:
    marks = MemoryMarks()
    clock = VirtualClock()
    carriers = {
        name: Post(as_store(marks), as_store(marks), SystemClock()) for name in (one, other)
    }
    await asyncio.gather(*(carrier.check_name("a", "") for carrier in carriers.values()))
    nodes = {name: Node(tmp_path / name, plans(wanted=0, session=name), clock) for name in carriers}
    async with nodes[one], nodes[other]:
        tasks = {
            name: asyncio.create_task(carrier.run(nodes[name].manager))
            for name, carrier in carriers.items()
        }
        async with asyncio.timeout(30):
            with pytest.raises(ExceptionGroup) as raised:
                await tasks["b"]
        assert raised.group_contains(ConfigError, match="node name 'a': another one on box uses it")
        marks.kept[list_mark("a")] = b""
        nodes["a"].manager.changed.set()
        await nodes["a"].until(lambda: marks.kept[list_mark("a")])
        assert decode_report(marks.kept[list_mark("a")]).session == "a", "the other one stays"
        assert not tasks["a"].done()
        tasks["a"].cancel()
        await asyncio.wait([tasks["a"]])


async def test_the_last_word_of_a_node_that_was_killed_is_no_other_node(tmp_path: Path) -> None:
    marks = MemoryMarks()
    async with served(Node(tmp_path, plans(wanted=0)), marks) as node:
        marks.kept[list_mark("a")] = encode(Report(name="a", session="killed", machine="box"))
        own = node.manager.report().session
        await node.until(lambda: decode_report(marks.kept[list_mark("a")]).session == own)
        await asyncio.sleep(0.2)
        await operator(marks).start("a")
