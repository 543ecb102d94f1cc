"""The servers of a store, seen as one: calls go where their keys are, and wait out every outage.

Before ``open`` has returned, whatever is wrong is an error with one clear line. After that a call
ends when the store has answered it: a fault that passes is waited out, with longer and longer
pauses, and ``trouble`` says why meanwhile. A call may so be made more than once, and calls that
were given together may happen in any order. All calls to a server share one connection: a command
that blocks would hold up all others.
"""

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from redis.exceptions import ClusterDownError, MovedError

from skitter.errors import Fenced, FrontierError, StoreUnavailable
from skitter.frontier.redis.address import StoreAddress
from skitter.frontier.redis.checks import check_store
from skitter.frontier.redis.line import Line, Word, pack
from skitter.frontier.redis.outage import BackOff, Means, Trouble, Verdict, Waiting, judge
from skitter.frontier.redis.routes import Routes

_TRIES_AT_ONCE = 3
"""How often a call is repeated without a pause, when a server has told what to do about it."""
_NOBODY = ClusterDownError("no server has the key", status_code="CLUSTERDOWN")


_COPY = pack(["WAIT", 1, 500])
COPIES_PAUSE_S = 5.0
"""How long replicas that did not answer are not waited for, and none are looked for again."""


class Call(NamedTuple):
    """A call of one function: the key it is anchored at, its name and its arguments."""

    key: str
    name: str
    args: tuple[Word, ...]


class _Fault(NamedTuple):
    """An answer that is an error: of which command, from where, and what it means."""

    at: int
    line: Line | None
    error: Exception
    verdict: Verdict


class _Work:
    """Commands, their answers as they come, and how far the repeats have got."""

    __slots__ = (
        "_at_once",
        "_back_off",
        "answers",
        "asked_at",
        "commands",
        "copied",
        "keys",
        "left",
        "loads",
    )

    def __init__(
        self, keys: Sequence[str], commands: Sequence[bytes], *, copied: bool = False
    ) -> None:
        self.keys = keys
        self.commands = commands
        self.copied = copied
        self.answers: list[Any] = [None] * len(keys)
        self.left: Sequence[int] = range(len(keys))
        self.asked_at = 0.0
        self.loads = 0
        self._at_once = _TRIES_AT_ONCE
        self._back_off = BackOff()

    def pause(self, *, waits: bool) -> float:
        """Return how long to wait: not at all, for a few times, when a server told what to do."""
        if waits or not self._at_once:
            return self._back_off.step()
        self._at_once -= 1
        return 0.0


class Nodes:
    """All calls to a store. ``on_trouble`` hears why calls wait, and "" when they go on."""

    def __init__(
        self,
        address: StoreAddress,
        *,
        on_trouble: Callable[[str], None] = lambda _: None,
        patience_s: float = math.inf,
    ) -> None:
        self.address = address
        self._patience_s = patience_s
        """How long a call waits for a store in trouble. A crawl waits on, a person does not."""
        self._routes = Routes(address)
        self._trouble = Trouble(address.shown, on_trouble)
        self._library = b""
        self._closed = False

    @property
    def trouble(self) -> str:
        """Why calls wait, in words; "" while the store answers."""
        return self._trouble.words

    async def open(self, *, to_read: bool = False) -> None:
        """Find all servers and check them; raises ``ConfigError`` or ``StoreUnavailable``.

        Who comes ``to_read`` is not warned of what may happen to those who write.
        """
        try:
            await check_store(self.address, self._routes, warns=not to_read)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Let all connections go; calls that wait are ended with a ``FrontierError``."""
        self._closed = True
        await self._routes.close()

    async def load(self, library: str, *, when_missing: bool = False) -> None:
        """Load a library of functions into every server, now and whenever one has lost it.

        One of the same name is replaced; not so ``when_missing``, where only a server that says it
        has none is given it.
        """
        self._library = pack(["FUNCTION", "LOAD", "REPLACE", library])
        for line in () if when_missing else self._routes.masters():
            await self._load_into(line, asyncio.get_running_loop().time())

    async def call(self, key: str, name: str, *args: Word) -> Any:
        """Call a function."""
        [answer] = await self._settle([key], [pack(("FCALL", name, 1, key, *args))])
        return answer

    @property
    def breaks(self) -> int:
        """A number that grows whenever a server may have forgotten what it had confirmed."""
        return self._routes.breaks

    async def call_many(self, calls: Sequence[Call], *, copied: bool = False) -> list[Any]:
        """Call functions, all servers at the same time; answers are in the order of the calls.

        An error is raised when all other calls have ended, the first one in order. With ``copied``
        the servers' replicas have heard of the calls, too, unless they do not answer.
        """
        return await self._settle(
            [call.key for call in calls],
            [pack(("FCALL", name, 1, key, *args)) for key, name, args in calls],
            copied=copied,
        )

    async def run(self, key: str, *command: Word, copied: bool = False) -> Any:
        """Run a plain command where ``key`` is; ``copied`` as for ``call_many``."""
        [answer] = await self._settle([key], [pack(command)], copied=copied)
        return answer

    def masters(self) -> list[Line]:
        """Return the lines to all servers that have keys."""
        return self._routes.masters()

    async def ask_master(self, line: Line, *command: Word) -> Any:
        """Ask one server for something that no key stands for, once; None when it fails."""
        [answer] = await line.ask([pack(command)])
        return None if isinstance(answer, Exception) else answer

    async def run_many(self, commands: Sequence[tuple[str, Sequence[Word]]]) -> list[Any]:
        """Run plain commands, each with the key it goes by, as ``call_many`` does."""
        return await self._settle(
            [key for key, _ in commands], [pack(command) for _, command in commands]
        )

    async def _settle(
        self, keys: Sequence[str], commands: Sequence[bytes], *, copied: bool = False
    ) -> list[Any]:
        """Ask again for what has no answer until everything has one."""
        work = _Work(keys, commands, copied=copied)
        with self._trouble.call() as waiting:
            if copied and self._routes.cluster:
                await self._find_copies(keys)
            while work.left:
                faults = [fault for fault in await self._ask(work) if self._passes(fault, work)]
                work.left = [fault.at for fault in faults]
                if faults:
                    await self._overcome(faults, work, waiting)
        for answer in work.answers:
            if isinstance(answer, Exception):
                raise answer
        return work.answers

    async def _find_copies(self, keys: Sequence[str]) -> None:
        """Ask now and then whether servers without replicas have got some since the last map."""
        now = asyncio.get_running_loop().time()
        lines = {line for line in map(self._routes.line_for, keys) if line is not None}
        bare = [line for line in lines if not line.copies and now >= line.look_from]
        if bare:
            # Whoever comes meanwhile looks, too, and is answered together with this one.
            await self._routes.refresh(bare[0].place)
        for line in bare:
            line.look_from = now + COPIES_PAUSE_S

    async def _ask(self, work: _Work) -> list[_Fault]:
        """Ask each server for its part of what is left, once."""
        parts: dict[Line | None, list[int]] = {}
        for at in work.left:
            parts.setdefault(self._routes.line_for(work.keys[at]), []).append(at)
        work.asked_at = asyncio.get_running_loop().time()
        faults = [_Fault(at, None, _NOBODY, judge(_NOBODY)) for at in parts.pop(None, ())]
        asked = [
            (line, part, line.post([*(work.commands[at] for at in part), *_copying(line, work)]))
            for line, part in parts.items()
            if line is not None
        ]
        for line, part, questions in asked:
            answers = [answer for question in questions for answer in await question.wait()]
            copies = answers.pop() if len(answers) > len(part) else None
            if copies == 0:
                # A replica that is away must not make every call slow.
                line.wait_from = asyncio.get_running_loop().time() + COPIES_PAUSE_S
            elif isinstance(copies, Exception) and judge(copies).means is Means.WAIT:
                # A server that is gone before its replica had heard of it all has done nothing.
                answers = [copies] * len(part)
            for at, answer in zip(part, answers, strict=True):
                if isinstance(answer, Exception):
                    faults.append(_Fault(at, line, answer, judge(answer)))
                else:
                    work.answers[at] = answer
        return faults

    def _passes(self, fault: _Fault, work: _Work) -> bool:
        """Tell whether a fault is one to overcome; any other is the answer."""
        match fault.verdict.means:
            case Means.FENCED:
                work.answers[fault.at] = Fenced(f"{self._named(fault)}: {fault.verdict.words}")
            case Means.LOAD if self._library and work.loads < _TRIES_AT_ONCE:
                return True
            case Means.LOAD | Means.RAISE:
                work.answers[fault.at] = self._error(fault)
            case _:
                return True
        return False

    async def _overcome(self, faults: Sequence[_Fault], work: _Work, waiting: Waiting) -> None:
        """Do about faults what can be done, and wait where nothing can."""
        if self._closed:
            raise FrontierError(f"store {self.address.shown} is closed")
        blocked = next((fault for fault in faults if fault.verdict.means is Means.WAIT), None)
        if blocked is not None:
            why = f"{self._named(blocked)} {blocked.verdict.words}"
            self._trouble.wait(waiting, why)
            if time.monotonic() - waiting.since > self._patience_s:
                raise StoreUnavailable(f"{why}; try again later")
        await asyncio.sleep(work.pause(waits=blocked is not None))
        bare = {fault.line for fault in faults if fault.verdict.means is Means.LOAD}
        work.loads += bool(bare)
        for line in bare:
            if line is not None:
                await self._load_into(line, work.asked_at)
        if any(fault.line not in bare for fault in faults):
            await self._find(faults)

    async def _find(self, faults: Sequence[_Fault]) -> None:
        """Ask anew who has which keys, those first that have just been named."""
        named = [
            self._routes.follow(fault.error, fault.line)
            for fault in faults
            if isinstance(fault.error, MovedError) and fault.line is not None
        ]
        await self._routes.refresh(named[0] if named else None)

    async def _load_into(self, line: Line, asked_at: float) -> None:
        """Load the library into a server that said it has none when it was asked."""
        work = _Work([""], [self._library])
        async with line.loading:
            with self._trouble.call() as waiting:
                while line.loaded_at < asked_at and line in self._routes.masters():
                    [answer] = await line.ask(work.commands)
                    if not isinstance(answer, Exception):
                        line.loaded_at = asyncio.get_running_loop().time()
                        return
                    fault = _Fault(0, line, answer, judge(answer))
                    if fault.verdict.means is not Means.WAIT:
                        raise self._error(fault)
                    await self._overcome([fault], work, waiting)

    def _error(self, fault: _Fault) -> FrontierError:
        return FrontierError(f"{self._named(fault)}: {fault.verdict.words}")

    def _named(self, fault: _Fault) -> str:
        at = self.address.shown_at(fault.line.place) if fault.line else self.address.shown
        return f"store {at}"


def _copying(line: Line, work: _Work) -> list[bytes]:
    """Return what makes a server wait for a replica, behind the commands it is about."""
    waits = work.copied and line.copies and work.asked_at >= line.wait_from
    return [_COPY] if waits else []
