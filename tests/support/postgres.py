"""A real PostgreSQL server for tests, on loopback and with a password.

It dies with the process that started it, however that ends. PostgreSQL does not run as root: there
it runs as the user that its package made.
"""

import atexit
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import psycopg
from stores import HOST, free_port, wait_until

OWNER = "postgres"
PASSWORD = "opensesame"
DATABASE = "postgres"
OPTIONS = {
    "shared_buffers": "16MB",
    "max_connections": "20",
    "autovacuum": "off",
    "logging_collector": "off",
    # With its data: a server that is killed would leave it in the memory of the machine.
    "dynamic_shared_memory_type": "mmap",
}
"""Small and soon there; everything that makes it safe is as PostgreSQL has it."""

# The system kills a server when the thread that started it ends; this one ends with the process.
_starter = ThreadPoolExecutor(1, "postgres")


def programs() -> Path:
    """Return the folder of the newest server's programs."""
    found = Path("/usr/lib/postgresql").glob("*/bin/postgres")
    return max(found, key=lambda path: float(path.parts[-3])).parent


def as_server_user(*command: str | Path) -> list[str]:
    """Return a command that dies with its parent, and that is not run as root."""
    other = ["--reuid", OWNER, "--regid", OWNER, "--clear-groups"] if os.geteuid() == 0 else []
    return ["setpriv", *other, "--pdeathsig", "KILL", *map(str, command)]


class PostgresServer:
    """One server process with its children. ``options`` are settings of postgresql.conf."""

    def __init__(self, folder: Path, options: Mapping[str, str]) -> None:
        self.folder = folder
        self.port = free_port()
        self.options = {**OPTIONS, **options}
        self._process: subprocess.Popen[bytes] | None = None
        # What pytest gives is closed to all but its own user.
        self._home = Path(tempfile.mkdtemp(prefix="postgres-"))
        self._make()

    @property
    def data(self) -> Path:
        return self._home / "data"

    @property
    def url(self) -> str:
        return self.url_of()

    def url_of(
        self, user: str = OWNER, password: str = PASSWORD, database: str = DATABASE, query: str = ""
    ) -> str:
        """Return the URL for another user or database."""
        login = f"{quote(user, '')}:{quote(password, '')}"
        return f"postgresql://{login}@{HOST}:{self.port}/{database}{query}"

    def _make(self) -> None:
        word = self._home / "password"
        word.write_text(PASSWORD)
        if os.geteuid() == 0:
            for path in (self._home, word):
                shutil.chown(path, OWNER, OWNER)
        ways = ["--auth=scram-sha-256", f"--pwfile={word}", "--no-sync", "--no-locale", "-EUTF8"]
        command = as_server_user(programs() / "initdb", "-D", self.data, "-U", OWNER, *ways)
        made = subprocess.run(command, capture_output=True, cwd=self._home, check=False)
        assert made.returncode == 0, made.stderr.decode()

    def start(self) -> None:
        """Start the server and wait until it answers."""
        given = {"listen_addresses": HOST, "port": str(self.port), **self.options}
        given |= {"unix_socket_directories": ""}
        words = [f"--{name}={value}" for name, value in given.items()]
        command = as_server_user(programs() / "postgres", "-D", self.data, *words)
        with (self.folder / "postgres.log").open("ab") as log:
            self._process = _starter.submit(
                subprocess.Popen, command, stdout=log, stderr=subprocess.STDOUT, cwd=self._home
            ).result()
        wait_until(f"the start of PostgreSQL in {self.folder}", self._answers)

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            log = (self.folder / "postgres.log").read_text(errors="replace")
            raise RuntimeError(f"PostgreSQL did not start:\n{log[-2000:]}")
        try:
            return self.sql("SELECT 1") == [(1,)]
        except psycopg.OperationalError:
            return False

    def sql(self, statement: str, database: str = DATABASE) -> list[tuple[Any, ...]]:
        """Run a statement, or several, as the owner; answers the rows of the last one."""
        url = self.url_of(database=database)
        with psycopg.connect(url, autocommit=True, connect_timeout=30) as connection:
            cursor = connection.execute(statement.encode())
            while cursor.nextset():
                pass
            return cursor.fetchall() if cursor.description else []

    def kill(self) -> None:
        """End the server and all of its processes at once, as a crash would."""
        if self._process is None or self._process.poll() is not None:
            return
        pid = self._process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for one in (pid, *map(int, children)):
            try:
                os.kill(one, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._process.wait()
        wait_until("the end of the server's processes", lambda: not any(map(_is_alive, children)))

    def stop(self) -> None:
        """End the server in order, its clients with it; one that has ended already is fine."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()

    def restart(self) -> None:
        """Start again on the same port and data; a server that still runs is ended first."""
        self.stop()
        self.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
        shutil.rmtree(self._home, ignore_errors=True)


def start_postgres(folder: Path, options: Mapping[str, str] | None = None) -> PostgresServer:
    """Start a new server, with its log in ``folder`` and its data elsewhere; a context manager."""
    folder.mkdir(parents=True, exist_ok=True)
    server = PostgresServer(folder, options or {})
    try:
        server.start()
    except BaseException:
        server.__exit__(None, None, None)
        raise
    return server


@cache
def shared_postgres() -> PostgresServer:
    """Return the server all tests of this process share; each takes a space of its own."""
    folder = Path(tempfile.mkdtemp(prefix="postgres-log-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    server = start_postgres(folder)
    atexit.register(server.__exit__, None, None, None)
    return server


def _is_alive(pid: str) -> bool:
    """Tell whether a process runs; one that nobody has asked about since its end does not."""
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
