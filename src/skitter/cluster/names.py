"""What a member is called."""

import os
import secrets
import socket

from skitter.errors import ConfigError

LONGEST = 100


def default_name() -> str:
    """Return a name that no other process has: of its machine, its number, and something drawn."""
    return f"{socket.gethostname()[:60]}-{os.getpid()}-{secrets.token_hex(3)}"


def checked_name(name: str) -> str:
    """Return a name somebody chose; raises ``ConfigError`` for one that is no plain word."""
    if not name or len(name) > LONGEST or not name.isprintable() or any(map(str.isspace, name)):
        raise ConfigError(
            f"member name {name!r}; wanted 1 to {LONGEST} printable characters without spaces"
        )
    return name
