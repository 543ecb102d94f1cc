"""Run one program on one core and measure what it costs."""

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

_SAMPLE_S = 0.25
_GRACE_S = 10.0
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a whole process tree took."""

    wall_s: float
    cpu_s: float
    """User and system time, start-up included."""
    peak_rss_mb: float
    exit_code: int
    timed_out: bool


def measured(
    command: list[str], *, core: int, folder: Path, timeout_s: float, environment: dict[str, str]
) -> Cost:
    """Run ``command`` in ``folder`` on ``core``; its output goes to ``folder/output.txt``."""
    began = time.monotonic()
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            ["taskset", "-c", str(core), *command],
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    peak, asked_to_stop = 0, False
    try:
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            peak = max(peak, _tree_rss(process.pid))
            late = time.monotonic() - began - timeout_s
            if late > 0:
                asked_to_stop = True
                os.killpg(process.pid, signal.SIGKILL if late > _GRACE_S else signal.SIGTERM)
            time.sleep(_SAMPLE_S)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    process.returncode = os.waitstatus_to_exitcode(status)
    return Cost(
        wall_s=time.monotonic() - began,
        cpu_s=usage.ru_utime + usage.ru_stime,
        peak_rss_mb=max(peak, usage.ru_maxrss * 1024) / 1e6,
        exit_code=process.returncode,
        timed_out=asked_to_stop,
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
