"""Refuses places that cannot work, before anything is opened there."""

import os
import stat
from pathlib import Path

from skitter.config import RunOptions
from skitter.errors import ConfigError


def check_paths(options: RunOptions) -> None:
    """Refuse places that cannot work before anything is opened or deleted."""
    if options.data.exists() and not options.data.is_dir():
        raise ConfigError(f"{options.data}: not a directory; wanted one for --data")
    for out in options.out:
        _check_out(out)
    if len({out.resolve() for out in options.out}) < len(options.out):
        raise ConfigError("--out: the same file is named twice; wanted each once")
    if options.warc is not None and options.warc.exists() and not options.warc.is_dir():
        raise ConfigError(f"{options.warc}: not a directory; wanted one for --warc")
    check_hosts(options.hosts)


def check_hosts(path: Path | None) -> None:
    """Refuse a hosts file that cannot be read."""
    if path is not None and not os.access(path, os.R_OK):
        raise ConfigError(f"{path}: cannot be read; wanted a hosts file")


def _check_out(out: Path) -> None:
    if not out.parent.is_dir():
        raise ConfigError(
            f"{out.parent}: no such directory;"
            f" wanted one for {out.name} (--out, or sinks of the job)"
        )
    if not out.exists():
        writable = os.access(out.parent, os.W_OK)
    else:
        if not stat.S_ISREG(out.stat().st_mode):
            raise ConfigError(
                f"{out}: not a regular file; wanted one for --out, or for sinks of the job"
            )
        writable = os.access(out, os.W_OK)
    if not writable:
        raise ConfigError(
            f"{out}: cannot be written; wanted a file for --out, or for sinks of the job"
        )
