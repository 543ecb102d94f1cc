"""Numbers and times as people read them."""

import os
import shutil
import sys
from pathlib import Path

_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")


def count(number: int) -> str:
    """Return ``12345`` as ``12,345``."""
    return f"{number:,}"


def rate(per_second: float) -> str:
    """Return a speed with as many digits as it deserves."""
    return f"{per_second:,.0f}/s" if per_second >= 10 else f"{per_second:.1f}/s"


def size(amount: int) -> str:
    """Return a number of bytes in decimal units."""
    value = float(amount)
    for unit in _UNITS[:-1]:
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} {_UNITS[-1]}"


def clock(seconds: float) -> str:
    """Return a duration as ``1:02:03`` or ``02:03``."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute:02}:{second:02}"


def roughly(seconds: float) -> str:
    """Return an estimate as ``40 s``, ``12 min``, ``3 h`` or ``2 days``."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} min"
    if seconds < 36 * 3600:
        return f"{round(seconds / 3600)} h"
    return f"{round(seconds / 86400)} days"


def duration(seconds: float) -> str:
    """Return a finished time: tenths while they matter, then the clock form."""
    return f"{seconds:.1f} s" if seconds < 60 else clock(seconds)


def plural(number: int, noun: str) -> str:
    """Return ``1 page`` or ``2 pages``."""
    return f"{count(number)} {noun}" if number == 1 else f"{count(number)} {noun}s"


def program() -> str:
    """Return how this shell calls the program: by name when it is on the path, else where it is."""
    if shutil.which("skitter") is not None:
        return "skitter"
    own = Path(sys.executable).with_name("skitter")
    if not own.is_file():
        return "skitter"
    near = os.path.relpath(own)
    return str(own) if near.startswith("..") else near
