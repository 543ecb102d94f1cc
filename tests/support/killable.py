"""Commands in processes of their own, to be killed, paused and started again."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

INTERRUPTED = 130


def family(pid: int) -> list[int]:
    """Return a process and everything it has started, directly or not."""
    found = [pid]
    for one in found:
        for children in Path(f"/proc/{one}/task").glob("*/children"):
            with suppress(OSError):
                found += [int(word) for word in children.read_text(encoding="ascii").split()]
    return found


def catches(pid: int, number: signal.Signals) -> bool:
    """Tell whether a process is past its first moments, in which a signal just ends it."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("SigCgt:"):
                return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False


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

    def leave(self, patience_s: float = 60.0) -> int:
        """Ask it to end, once it can be asked; return its exit code."""
        assert self._process is not None
        until = time.monotonic() + patience_s
        while self.up and not catches(self.pid, signal.SIGTERM) and time.monotonic() < until:
            time.sleep(0.02)
        self.send(signal.SIGTERM)
        return self._process.wait(patience_s)

    def wait(self, seconds: float) -> int:
        assert self._process is not None
        return self._process.wait(seconds)


class Tree(Command):
    """A command that is killed and paused with everything it has started, as its machine would."""

    def kill(self) -> None:
        """End all of it without warning; one that has ended is fine."""
        if self.up:
            self._send_all(signal.SIGKILL)
        super().kill()

    def pause(self) -> None:
        self.paused = True
        self._send_all(signal.SIGSTOP)

    def resume(self) -> None:
        self.paused = False
        self._send_all(signal.SIGCONT)

    def _send_all(self, number: signal.Signals) -> None:
        for pid in family(self.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, number)
