"""The one connection to one server; commands that come together travel together.

A line never raises for what a server does: the answer to a command is its value, or the error
that came instead. Who cancels a question leaves the connection as it is.
"""

import asyncio
import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from redis.asyncio.connection import Connection, SSLConnection
from redis.exceptions import ResponseError
from redis.exceptions import TimeoutError as RedisTimeout

from skitter.frontier.redis.address import Place, StoreAddress

Word = bytes | str | int | float
"""One word of a command."""

PATIENCE_S: Final = 5.0
"""How long a server may be silent before its connection is given up."""
MOST_PATIENCE_S: Final = 30.0
"""The same after it was silent again and again: then it may just need longer."""
_TOGETHER = 128
_TOGETHER_BYTES = 1 << 19
_READ_BYTES = 1 << 17


def pack(words: Sequence[Word]) -> bytes:
    """Write a command as servers read it."""
    pieces = [b"*%d\r\n" % len(words)]
    for word in words:
        if type(word) is str:
            word = word.encode()
        elif type(word) is not bytes:
            word = str(word).encode()
        pieces.append(b"$%d\r\n%b\r\n" % (len(word), word))
    return b"".join(pieces)


class Question:
    """Commands under way to a server, and what it has answered so far."""

    __slots__ = ("_answered", "answers", "commands")

    def __init__(self, commands: Sequence[bytes]) -> None:
        self.commands = commands
        self.answers: list[Any] = []
        self._answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def dropped(self) -> bool:
        """Whether nobody waits for the answers any more."""
        return self._answered.cancelled()

    async def wait(self) -> list[Any]:
        """Return the answers when all are there."""
        await self._answered
        return self.answers

    async def within(self, seconds: float) -> list[Any]:
        """Return the answers; an error for each when they take longer."""
        await asyncio.wait([self._answered], timeout=seconds)
        if self._answered.cancel():
            return [TimeoutError()] * len(self.commands)
        return self.answers

    def done(self) -> None:
        """Let go who waits."""
        if not self._answered.done():
            self._answered.set_result(None)

    def fail(self, error: Exception) -> None:
        """Answer what has no answer yet with the error."""
        self.answers += [error] * (len(self.commands) - len(self.answers))
        self.done()


class Line:
    """Asks one server, over one connection that is made when it is needed."""

    def __init__(
        self, place: Place, address: StoreAddress, on_break: Callable[[], None] = lambda: None
    ) -> None:
        self.place = place
        self.copies = 0
        """Replicas that the server has, as far as is known."""
        self.wait_from = -math.inf
        """From when on its replicas are waited for, in seconds of the event loop."""
        self.look_from = -math.inf
        """From when on replicas are looked for where none is known."""
        self._on_break = on_break
        self.loading = asyncio.Lock()
        """Held by who loads functions into the server."""
        self.loaded_at = -math.inf
        """When that was done last, in seconds of the event loop."""
        self._connection = _connection(place, address)
        self._patience = PATIENCE_S
        self._waiting: deque[Question] = deque()
        self._pump: asyncio.Task[None] | None = None
        self._closed = False

    async def ask(self, commands: Sequence[bytes]) -> list[Any]:
        """Return the answers to packed commands, in order."""
        return [answer for question in self.post(commands) for answer in await question.wait()]

    def post(self, commands: Sequence[bytes]) -> list[Question]:
        """Send packed commands on their way; the answers of the questions together are theirs."""
        rounds = range(0, len(commands), _TOGETHER)
        questions = [Question(commands[at : at + _TOGETHER]) for at in rounds]
        self._waiting += questions
        if self._closed:
            self._fail((), ConnectionAbortedError("closed"))
        elif self._pump is None:
            self._pump = asyncio.create_task(self._work())
        return questions

    async def close(self) -> None:
        """Let the connection go; what is under way ends as if the server had gone."""
        self._closed = True
        try:
            if self._pump is not None:
                self._pump.cancel()
                await asyncio.wait([self._pump])
        finally:
            await self._connection.disconnect(nowait=True)

    async def _work(self) -> None:
        together: list[Question] = []
        try:
            while self._waiting:
                together = self._take()
                await self._exchange(together)
        finally:
            self._pump = None
            self._fail(together, ConnectionAbortedError("closed"))

    def _fail(self, together: Iterable[Question], error: Exception) -> None:
        """End these questions and all that wait: who has them decides whether to ask again."""
        for question in (*together, *self._waiting):
            question.fail(error)
        self._waiting.clear()

    def _take(self) -> list[Question]:
        taken: list[Question] = []
        commands = size = 0
        while self._waiting and commands < _TOGETHER and size < _TOGETHER_BYTES:
            question = self._waiting.popleft()
            if question.dropped:
                continue
            taken.append(question)
            commands += len(question.commands)
            size += sum(map(len, question.commands))
        return taken

    async def _exchange(self, questions: Iterable[Question]) -> None:
        """Send all commands, then read all answers, as long as the server is not silent."""
        try:
            async with asyncio.timeout(self._patience) as silence:
                await self._speak(questions, silence)
        except Exception as error:  # noqa: BLE001  it is an answer, and judged by who asked
            if isinstance(error, TimeoutError | RedisTimeout):
                self._patience = min(2 * self._patience, MOST_PATIENCE_S)
            await self._connection.disconnect(nowait=True)
            self._on_break()
            self._fail(questions, error)
        else:
            self._patience = PATIENCE_S

    async def _speak(self, questions: Iterable[Question], silence: asyncio.Timeout) -> None:
        connection = self._connection
        now = asyncio.get_running_loop().time
        await connection.connect()
        packed = [command for question in questions for command in question.commands]
        await connection.send_packed_command(b"".join(packed), check_health=False)
        for question in questions:
            answers = question.answers
            for _ in question.commands:
                try:
                    answers.append(await connection.read_response())
                except ResponseError as error:
                    answers.append(error)
                if not len(answers) % 16:
                    silence.reschedule(now() + self._patience)
            question.done()


def _connection(place: Place, address: StoreAddress) -> Connection:
    """Return a connection that is not made yet; the line minds its time and its repeats."""
    tls: dict[str, Any] = {"ssl_ca_certs": address.ca or None} if address.tls else {}
    return (SSLConnection if address.tls else Connection)(
        host=place.host,
        port=place.port,
        db=address.db,
        username=address.user or None,
        password=address.password or None,
        protocol=2,
        socket_timeout=None,
        socket_connect_timeout=PATIENCE_S,
        socket_read_size=_READ_BYTES,
        driver_info=None,
        **tls,
    )
