"""Where a master is: a URL, or the path of a local socket."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from skitter.errors import ConfigError

MAX_PATH_BYTES = 107
"""What the system takes as the path of a socket."""


_LIKE_A_HOST = re.compile(r"[A-Za-z0-9.-]+:[0-9]+")


@dataclass(frozen=True, slots=True)
class MasterAddress:
    """An address that was understood."""

    url: str
    """The beginning of every URL that is asked."""
    socket: Path | None
    shown: str
    """How messages name it."""

    @classmethod
    def parse(cls, text: str | Path) -> "MasterAddress":
        """Read ``http://host[:port]``, ``https://…`` or the path of a socket."""
        if isinstance(text, Path) or "://" not in text:
            path = Path(text)
            if isinstance(text, str) and _LIKE_A_HOST.fullmatch(text) and not path.exists():
                raise _bad(text, "no scheme")
            if path.exists() and not path.is_socket():
                raise ConfigError(f"{path}: a file of another kind; wanted the socket of a master")
            return cls("http://master", path, str(path))
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError as error:
            raise _bad(text, str(error)) from error
        if parts.scheme not in ("http", "https"):
            raise _bad(text, f"scheme {parts.scheme!r}")
        if parts.username is not None or parts.password is not None:
            # Not repeated: it may be a secret.
            raise ConfigError("master address: a user or password in it; give the token instead")
        if not parts.hostname or port == 0:
            raise _bad(text, "no host" if not parts.hostname else "port 0")
        if parts.query or parts.fragment:
            raise _bad(text, "something behind its path")
        url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        return cls(url, None, url)


class ShortPath:
    """A path that the system takes for a socket, however long the real one is.

    A long one is reached through its open directory, so it holds until ``close``.
    """

    def __init__(self, path: Path) -> None:
        self._directory: int | None = None
        self.path = str(path)
        if len(bytes(path)) > MAX_PATH_BYTES:
            self._directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
            self.path = f"/proc/self/fd/{self._directory}/{path.name}"

    def close(self) -> None:
        """Let the directory go; idempotent."""
        directory, self._directory = self._directory, None
        if directory is not None:
            os.close(directory)


def _bad(text: str, why: str) -> ConfigError:
    return ConfigError(
        f"master address {text!r}: {why}; wanted http://HOST:PORT, https://… or a socket's path"
    )
