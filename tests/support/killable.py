"""Commands in processes of their own, to be killed, paused and started again."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

INTERRUPTED = 130


class Command:
    """A command in a process of its own, over all the times it is started."""

    def __init__(
        self,
        name: str,
        folder: Path,
        words: Sequence[str | Path],
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self._env = {**os.environ, **(env or {})}
        self.words = [str(word) for word in words]
        self.folder = folder
        self.started = 0
        self.paused = False
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def log(self) -> Path:
        return self.folder / f"{self.name}.log"

    @property
    def told(self) -> str:
        """What it has said on standard error, all processes of it."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    @property
    def output(self) -> str:
        """What it has said on standard output, all processes of it."""
        return self._out.read_text(errors="replace")

    @property
    def _out(self) -> Path:
        return self.folder / f"{self.name}.out"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def up(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def code(self) -> int | None:
        return self._process.poll() if self._process is not None else None

    def start(self) -> None:
        assert not self.up
        self.started += 1
        self.paused = False
        # It dies with the test, however that ends.
        words = ["setpriv", "--pdeathsig", "KILL", *self.words]
        with self.log.open("ab") as log, self._out.open("ab") as out:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=log,
                cwd=self.folder,
                env=self._env,
            )

    def send(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """End it without warning; one that has ended is fine."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def pause(self) -> None:
        self.paused = True
        self.send(signal.SIGSTOP)

    def resume(self) -> None:
        self.paused = False
        self.send(signal.SIGCONT)

    def leave(self, patience_s: float = 30.0) -> int:
        """Ask it to end; return its exit code."""
        assert self._process is not None
        self.send(signal.SIGTERM)
        return self._process.wait(patience_s)

    def wait(self, seconds: float) -> int:
        assert self._process is not None
        return self._process.wait(seconds)
