"""Where Chromium is on this machine, and how it is started: without a network of its own."""

import os
import resource
import shutil
import socket
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from skitter.errors import ConfigError

VARIABLE: Final = "SKITTER_CHROMIUM"
_NAMES: Final = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
)
"""Those without windows first: a page takes a quarter of the processor there."""
_DOWNLOADED: Final = (
    "chromium_headless_shell-*/*linux*/*headless*shell",
    "chromium-*/chrome-linux*/chrome",
)
_KEPT: Final = ("LANG", "PATH", "TMPDIR")
HEAP_MB: Final = 512
"""Memory for the objects of one page's scripts."""
PROCESS_BYTES: Final = 1536 * 1024 * 1024
"""Memory of one process of the browser, whatever a page does there; a page has one or a few."""

ARGUMENTS: Final = (
    "--disable-gpu",
    "--disable-quic",
    "--disable-remote-fonts",
    # Each page has processes of its own anyway, and frames of other sites are empty.
    "--disable-site-isolation-trials",
    "--dns-prefetch-disable",
    "--no-pings",
    "--proxy-bypass-list=<-loopback>",
    # Nothing has an address: whatever is not answered from here ends in the browser itself.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    f"--js-flags=--max-old-space-size={HEAP_MB}",
)


def find_chromium(environ: Mapping[str, str] | None = None) -> Path:
    """Return the browser of this machine, or raise a ``ConfigError`` that says what to install."""
    environ = os.environ if environ is None else environ
    if find_spec("playwright") is None:
        raise ConfigError(
            "render: playwright is not installed; wanted: pip install 'skitter[render]'"
        )
    named = environ.get(VARIABLE)
    if named:
        found = shutil.which(Path(named).expanduser())
        if found is None:
            raise ConfigError(f"{VARIABLE}: {named}: no program; wanted the path of Chromium")
        return Path(found)
    for name in _NAMES:
        found = shutil.which(name, path=environ.get("PATH"))
        if found is not None:
            return Path(found)
    downloaded = _downloaded(environ)
    if downloaded is None:
        raise ConfigError(
            "render: there is no Chromium on this machine; wanted: apt install"
            f" chromium-headless-shell (or chromium), or {VARIABLE}=PATH"
        )
    return downloaded


def _downloaded(environ: Mapping[str, str]) -> Path | None:
    """Return the newest browser that ``playwright install`` has brought."""
    caches = environ.get("XDG_CACHE_HOME") or "~/.cache"
    folder = Path(environ.get("PLAYWRIGHT_BROWSERS_PATH") or f"{caches}/ms-playwright")
    found = (max(folder.expanduser().glob(one), default=None) for one in _DOWNLOADED)
    return next(filter(None, found), None)


def browser_environment(
    home: str, environ: Mapping[str, str] | None = None
) -> dict[str, str | float | bool]:
    """Return the environment of the browser: nothing in it is secret, or somebody's own.

    What it keeps is in ``home``: a page that crashes leaves its memory in a file there.
    """
    environ = os.environ if environ is None else environ
    kept = {name: environ[name] for name in _KEPT if name in environ}
    return {**kept, "HOME": home}


def bound_memory() -> None:
    """Bound what each process of a browser may take that is started from now on.

    They inherit it from Playwright's own process. Only Linux can say so of another process.
    """
    if not hasattr(resource, "prlimit"):
        return
    for listed in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):
            for pid in map(int, listed.read_text(encoding="ascii").split()):
                if b"run-driver" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    resource.prlimit(pid, resource.RLIMIT_DATA, (PROCESS_BYTES, PROCESS_BYTES))


class Nowhere:
    """An address of this machine that nobody answers at, and nobody else can take."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.bind(("127.0.0.1", 0))

    @property
    def url(self) -> str:
        """The address as that of a proxy."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def close(self) -> None:
        """Let the address go."""
        self._socket.close()
