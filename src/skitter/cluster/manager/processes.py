"""What a manager asks the system about processes."""

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Protocol


def born(pid: int) -> int:
    """Return when a process was started, in ticks since the boot; 0 when there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    # The name of the program may hold anything, but nothing behind it has a bracket.
    state, *fields = text.rpartition(")")[2].split()
    return 0 if state == "Z" else int(fields[18])


class Process(Protocol):
    """What is kept of a process: a manager or a worker."""

    @property
    def pid(self) -> int:
        """Its number; 0 when it is not known."""

    @property
    def born(self) -> int:
        """When it was started."""


def is_alive(process: Process) -> bool:
    """Tell whether a process is there; its number may be another's by now."""
    return bool(process.pid) and born(process.pid) == process.born != 0


def kill(process: Process) -> None:
    """End a process at once, if it is there."""
    if is_alive(process):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process.pid, signal.SIGKILL)
