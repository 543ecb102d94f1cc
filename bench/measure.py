"""Run programs on cores of their own and measure what they cost."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_SAMPLE_S = 0.25
_GRACE_S = 10.0
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What all processes of a run took."""

    wall_s: float
    cpu_s: float
    """User and system time, start-up included."""
    peak_rss_mb: float
    exit_code: int
    """The first one that is not good, else 0."""
    timed_out: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One of the programs of a run."""

    command: list[str]
    good_exits: frozenset[int] = frozenset({0})
    stays: bool = False
    """Whether it does not end by itself: it is told to when all others have."""


class _Running:
    """A program that was started, and what it took when it has ended."""

    def __init__(self, program: Program, core: int, folder: Path, output: Path) -> None:
        self.program = program
        with output.open("wb") as written:
            self._process = subprocess.Popen(
                ["taskset", "-c", str(core), *program.command],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=written,
                start_new_session=True,
            )
        self.pid = self._process.pid
        self.ended = False
        self.cpu_s = 0.0
        self.peak_bytes = 0
        self._told_at: float | None = None

    @property
    def exit_code(self) -> int:
        """How it ended; 0 for a good end."""
        code = self._process.returncode
        return 0 if code in self.program.good_exits else code

    def look(self) -> None:
        """Take note of its end, if it has ended."""
        if self.ended:
            return
        pid, status, usage = os.wait4(self.pid, os.WNOHANG)
        if pid:
            self.ended = True
            self._process.returncode = os.waitstatus_to_exitcode(status)
            self.cpu_s = usage.ru_utime + usage.ru_stime
            self.peak_bytes = usage.ru_maxrss * 1024

    def tell_to_end(self) -> None:
        """Ask it to end, once; later, when it has not, make it end."""
        now = time.monotonic()
        if self.ended:
            return
        if self._told_at is None:
            self._told_at = now
            os.killpg(self.pid, signal.SIGTERM)
        elif now - self._told_at > _GRACE_S:
            os.killpg(self.pid, signal.SIGKILL)

    def kill(self) -> None:
        """End it at once."""
        if not self.ended:
            os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()
            self.ended = True


def measured(
    programs: Sequence[Program], *, cores: Sequence[int], folder: Path, timeout_s: float
) -> Cost:
    """Run programs in ``folder``, one after the other on these cores, until all have ended.

    Their output goes to ``folder/output.txt``, that of the second one to ``output-2.txt``.
    """
    began = time.monotonic()
    running: list[_Running] = []
    peak, timed_out = 0, False
    try:
        for number, program in enumerate(programs):
            output = folder / (f"output-{number + 1}.txt" if number else "output.txt")
            core = cores[number % len(cores)]
            running.append(_Running(program, core, folder, output))
        while not all(one.ended for one in running):
            for one in running:
                one.look()
            peak = max(peak, sum(_tree_rss(one.pid) for one in running if not one.ended))
            if time.monotonic() - began > timeout_s:
                timed_out = True
            done = all(one.ended for one in running if not one.program.stays)
            for one in running:
                if timed_out or (done and one.program.stays):
                    one.tell_to_end()
            time.sleep(_SAMPLE_S)
    finally:
        for one in running:
            one.kill()
    return Cost(
        wall_s=time.monotonic() - began,
        cpu_s=sum(one.cpu_s for one in running),
        peak_rss_mb=max(peak, *(one.peak_bytes for one in running)) / 1e6,
        exit_code=next((one.exit_code for one in running if one.exit_code), 0),
        timed_out=timed_out,
    )


def _tree_rss(root: int) -> int:
    """Return the resident bytes of ``root`` and everything it started."""
    total, todo = 0, [root]
    while todo:
        process = Path("/proc") / str(todo.pop())
        try:
            total += int((process / "statm").read_text().split()[1]) * _PAGE_BYTES
            for thread in (process / "task").iterdir():
                todo += map(int, (thread / "children").read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            continue  # It ended while it was being looked at.
    return total
