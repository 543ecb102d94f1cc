"""The demo web in a process of its own, so that it does not share a core with the crawl."""

import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from skitter.demo.build import DEFAULT_PAGES, demo_web
from skitter.demo.server import Hit
from skitter.demo.web import Web
from skitter.errors import ConfigError

STOP_WITHIN_S = 5.0


class DemoProcess:
    """Runs the server while its ``with`` block runs; it ends with this process, too.

    ``web`` is the served web with its port; ``hosts`` the text of its hosts file.
    """

    def __init__(
        self,
        *,
        pages: int = DEFAULT_PAGES,
        seed: int = 1,
        port: int = 0,
        log: Path | None = None,
        with_traps: bool = False,
    ) -> None:
        self._sizes = {"pages": pages, "seed": seed}
        self._port = port
        self._log = log
        self._process: subprocess.Popen[str] | None = None
        self._with_traps = with_traps
        self.web: Web = demo_web(pages=pages, seed=seed, with_traps=with_traps)
        self.hosts = ""

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "skitter.demo.server", "--with-parent"]
        options: dict[str, object] = {**self._sizes, "port": self._port}
        if self._log is not None:
            options["log"] = self._log
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        command += ["--traps"] if self._with_traps else []
        self._process = subprocess.Popen(  # noqa: S603 (our own module, our own arguments)
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._stop()
            raise ConfigError("the demo web did not start")
        facts = json.loads(line)
        self.web = self.web.at_port(facts["port"])
        self.hosts = facts["hosts"]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def hits(self) -> list[Hit]:
        """Return every request so far; empty where no log was asked for."""
        if self._log is None or not self._log.exists():
            return []
        with self._log.open(encoding="utf-8") as lines:
            return [Hit(*json.loads(line)) for line in lines]

    def _stop(self) -> None:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.terminate()
        try:
            process.wait(STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
