"""What a manager writes down, and what it passes on of its workers' words."""

import logging
import os
import re
import time
from pathlib import Path

from skitter.cluster.manager.logs import last_lines, lines_after, open_log

PROGRAM = "skitter: "
_TIMED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ ")

log = logging.getLogger(__name__)


def timed(line: str) -> str:
    """Return a line with the time before it."""
    return f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {line}"


def time_of(line: str) -> str:
    """Return the time before a line; "" when there is none."""
    found = _TIMED.match(line)
    return found[0] if found else ""


class Journal:
    """A log of this process."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def say(self, line: str) -> None:
        """Write one line; a full disk is no reason to stop."""
        try:
            fd = open_log(self._path)
            try:
                os.write(fd, (timed(line) + "\n").encode())
            finally:
                os.close(fd)
        except OSError as error:
            log.debug("%s: %s", self._path, error.strerror)


class Overhearing:
    """Passes on what a worker says to whoever watches this process."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._name = name
        self._cursor = last_lines(path, 0).cursor
        self.last = ""
        """Its last word."""

    def pass_on(self) -> None:
        """Tell what is new."""
        more = True
        while more:
            piece = lines_after(self._path, self._cursor)
            self._cursor, more = piece.cursor, piece.more
            for line in piece.text.splitlines():
                words = line.removeprefix(time_of(line)).removeprefix(PROGRAM)
                if words.strip():
                    self.last = words
                    log.warning("%s: %s", self._name, words)
