"""A running crawl answers questions on a local socket: one JSON line in, JSON lines out.

The data directory has one owner, so other commands ask the process that holds it.
"""

import asyncio
import json
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from pathlib import Path

from skitter.errors import ConfigError, Conflict, FrontierError, NotFound, SkitterError

SOCKET_NAME = "skitter.sock"
MAX_LINE = 16 << 20
LAST_WORDS_S = 0.2
"""How long a crawl that ends lets answers finish; a long list takes longer and is broken off."""

Question = Mapping[str, object]
Answer = Callable[[Question], AsyncIterator[bytes]]

log = logging.getLogger(__name__)


class InspectServer:
    """Serves the questions of ``skitter page`` and ``skitter job``."""

    def __init__(self, directory: Path, answer: Answer) -> None:
        self._directory = directory
        self._answer = answer
        self._server: asyncio.Server | None = None
        self._answering: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Listen, readable for this user alone."""
        with _short_path(self._directory) as path:
            path.unlink(missing_ok=True)
            mask = os.umask(0o177)
            try:
                self._server = await asyncio.start_unix_server(self._begin, path, limit=MAX_LINE)
            finally:
                os.umask(mask)

    async def close(self) -> None:
        """Stop listening, and break off answers: what they read from is closed next."""
        if self._server is not None:
            self._server.close()
            self._server = None
            (self._directory / SOCKET_NAME).unlink(missing_ok=True)
        if self._answering:
            _, late = await asyncio.wait(self._answering, timeout=LAST_WORDS_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        # Connections are closed in the loop's next turn.
        await asyncio.sleep(0)

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._server is None:
            # The crawl has ended while somebody was on the way in.
            writer.transport.abort()
            return
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            question = json.loads(await reader.readline())
            if not isinstance(question, dict):
                return
            async for line in self._answer(question):
                writer.write(line)
                await writer.drain()
        except (OSError, ValueError, KeyError, TypeError, SkitterError) as error:
            # A client that asks nonsense or hangs up gets no answer; the crawl goes on.
            log.debug("a question was not answered: %s", error)
        except asyncio.CancelledError:
            # What the client has not read yet would keep the connection open.
            writer.transport.abort()
            raise
        finally:
            writer.close()


async def ask_running(directory: Path, question: Question) -> AsyncGenerator[bytes, None]:
    """Ask the process that owns ``directory``; yields nothing when none answers.

    Ends where that process does: a list says itself when it is complete.
    """
    with _short_path(directory) as path:
        try:
            reader, writer = await asyncio.open_unix_connection(path, limit=MAX_LINE)
        except OSError:
            return
    try:
        writer.write(json.dumps(question).encode() + b"\n")
        await writer.drain()
        while (line := await reader.readline()).endswith(b"\n"):
            yield line
    except ConnectionError:
        return
    finally:
        writer.close()


_KINDS: Mapping[str, type[SkitterError]] = {
    "not_found": NotFound,
    "conflict": Conflict,
    "config": ConfigError,
}
"""Errors by the words they have in an answer, particular ones first."""


def error_facts(error: SkitterError) -> dict[str, object]:
    """Return an error as a line of an answer tells it."""
    kind = next((word for word, one in _KINDS.items() if isinstance(error, one)), "away")
    return {"error": str(error), "kind": kind}


def error_of(facts: Mapping[str, object]) -> SkitterError | None:
    """Return the error that a line of an answer tells of; records and pages have one of theirs."""
    if "error" not in facts or "url" in facts or "id" in facts:
        return None
    kind = _KINDS.get(str(facts.get("kind", "config")), FrontierError)
    return kind(str(facts["error"]))


class _short_path:  # noqa: N801  used as a function
    """The socket's path through an open directory: socket names are limited to 107 bytes."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __enter__(self) -> Path:
        self._fd = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY)
        return Path(f"/proc/self/fd/{self._fd}/{SOCKET_NAME}")

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)
