"""The reception of a master's address: who is asked for, its nodes' server or the service.

A connection is looked at until it is plain whom its first request is for; nothing of it is read.
Then it stays here, behind the door, or goes to another process as it is. A connection that does not
say in time what it wants is hung up on, and so is the oldest when too many of them wait.
"""

import asyncio
import logging
import socket
from collections import OrderedDict
from collections.abc import Callable

from skitter.frontier.remote.door import MOST_STRANGERS, STRANGER_S, Door
from skitter.frontier.remote.wire import PATH

OWN = f"POST {PATH}".encode()
"""How the requests begin that are answered in this process."""
LOOK_S = 0.01
"""Until the next look at a connection that has sent a part of that."""
REST_S = 0.2
"""How long nobody is let in after the system had no room for another connection."""
ACCEPTS = 64
"""Connections let in at a time."""

HandOver = Callable[[socket.socket], None]
"""Takes a connection that is for somebody else, and closes it if that one is away."""

log = logging.getLogger(__name__)


class Reception:
    """Lets connections in, and shows each to its place."""

    def __init__(
        self,
        listening: socket.socket,
        door: Door,
        hand_over: HandOver,
        *,
        patience_s: float = STRANGER_S,
        most: int = MOST_STRANGERS,
    ) -> None:
        self._listening = listening
        self._door = door
        self._hand_over = hand_over
        self._patience_s = patience_s
        self._most = most
        self._waiting: OrderedDict[socket.socket, asyncio.TimerHandle] = OrderedDict()
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[object]] = set()
        self._open = False

    def open(self) -> None:
        """Begin to let connections in."""
        self._open = True
        self._loop.add_reader(self._listening, self._accept)

    def close(self) -> None:
        """Let nobody in any more; who has not said what it wants is hung up on. Idempotent."""
        if self._open:
            self._open = False
            self._loop.remove_reader(self._listening)
            self._listening.close()
        for connection in list(self._waiting):
            self._drop(connection)

    @property
    def waiting(self) -> int:
        """How many connections have not said what they want."""
        return len(self._waiting)

    def _accept(self) -> None:
        for _ in range(ACCEPTS):
            try:
                connection, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                log.warning("no connection can be let in for a moment: %s", error.strerror)
                self._loop.remove_reader(self._listening)
                self._loop.call_later(REST_S, self._go_on)
                return
            self._receive(connection)

    def _go_on(self) -> None:
        if self._open:
            self._loop.add_reader(self._listening, self._accept)

    def _receive(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        timer = self._loop.call_later(self._patience_s, self._drop, connection)
        self._waiting[connection] = timer
        while len(self._waiting) > self._most:
            self._drop(next(iter(self._waiting)))
        self._watch(connection)

    def _watch(self, connection: socket.socket) -> None:
        if connection in self._waiting:
            self._loop.add_reader(connection, self._look, connection)

    def _look(self, connection: socket.socket) -> None:
        try:
            begins = connection.recv(len(OWN), socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            begins = b""
        if not begins:
            self._drop(connection)
        elif begins == OWN:
            self._keep(self._settled(connection))
        elif OWN.startswith(begins):
            # What is there would wake us again at once.
            self._loop.remove_reader(connection)
            self._loop.call_later(LOOK_S, self._watch, connection)
        else:
            self._hand_over(self._settled(connection))

    def _settled(self, connection: socket.socket) -> socket.socket:
        self._waiting.pop(connection).cancel()
        self._loop.remove_reader(connection)
        return connection

    def _keep(self, connection: socket.socket) -> None:
        adopting = self._loop.connect_accepted_socket(self._door, connection)
        task: asyncio.Task[object] = self._loop.create_task(adopting)
        self._tasks.add(task)
        task.add_done_callback(self._kept)

    def _kept(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.debug("a connection was gone before it could be taken: %s", error)

    def _drop(self, connection: socket.socket) -> None:
        if connection in self._waiting:
            self._settled(connection).close()
