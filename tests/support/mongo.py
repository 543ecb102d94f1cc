"""A server that speaks MongoDB's wire protocol, on loopback: nx-27017, which keeps all in SQLite.

It is not mongod. It dies with the process that started it, however that ends; what it has confirmed
is on disk, so that it can be killed and started again.
"""

import atexit
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pymongo import MongoClient
from pymongo.errors import PyMongoError
from stores import HOST, free_port, wait_until

SERVER = Path(sys.executable).with_name("nx-27017")

# The system kills a server when the thread that started it ends; this one ends with the process.
_starter = ThreadPoolExecutor(1, "mongo")


class MongoServer:
    """One server process with a directory of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def url(self, database: str) -> str:
        return f"mongodb://{HOST}:{self.port}/{database}"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        files = {"--data-dir": "data", "--log-file": "server.log", "--pid-file": "server.pid"}
        (self.folder / "server.pid").unlink(missing_ok=True)
        (self.folder / "data").mkdir(exist_ok=True)
        words = [word for name, file in files.items() for word in (name, str(self.folder / file))]
        command = ["setpriv", "--pdeathsig", "KILL", str(SERVER), "--port", str(self.port), *words]
        with (self.folder / "output.log").open("ab") as log:
            self._process = _starter.submit(
                subprocess.Popen, command, stdout=log, stderr=subprocess.STDOUT, cwd=self.folder
            ).result()
        wait_until(f"the start of the server in {self.folder}", self._answers)

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            told = (self.folder / "output.log").read_text(errors="replace")
            raise RuntimeError(f"the server did not start:\n{told[-2000:]}")
        try:
            with self._client("admin", 1_000) as client:
                return bool(client.admin.command("ping")["ok"])
        except PyMongoError:
            return False

    def _client(self, database: str, patience_ms: int = 20_000) -> MongoClient[dict[str, Any]]:
        return MongoClient(self.url(database), serverSelectionTimeoutMS=patience_ms)

    def documents(self, database: str, collection: str) -> list[dict[str, Any]]:
        """Return everything in a collection."""
        with self._client(database) as client:
            return list(client[database][collection].find())

    def kill(self) -> None:
        """End the server at once, as a crash would; one that has ended is fine."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def start_mongo() -> MongoServer:
    """Start a new server; a context manager."""
    server = MongoServer(Path(tempfile.mkdtemp(prefix="mongo-")))
    try:
        server.start()
    except BaseException:
        server.__exit__(None, None, None)
        raise
    return server


@cache
def shared_mongo() -> MongoServer:
    """Return the server all tests of this process share; each takes a database of its own."""
    server = start_mongo()
    atexit.register(server.__exit__, None, None, None)
    return server
