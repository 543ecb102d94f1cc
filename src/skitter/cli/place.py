"""Which crawl, master, store or service a command speaks to."""

import os
from dataclasses import asdict, dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from skitter.config import STATE_DIR, Settings, resolve
from skitter.errors import ConfigError, DataDirError
from skitter.frontier.embedded.datadir import FRONTIER
from skitter.wiring.look import Where
from skitter.wiring.tokens import TOKEN_FILE

_UP = "up"


@dataclass(frozen=True, slots=True)
class Flags:
    """What a command line says of the place; None was not said."""

    data: Path | None = None
    store: str | None = None
    api: str | None = None
    token: str | None = None
    cold: str | None = None
    index: str | None = None

    @property
    def named(self) -> list[str]:
        """The flags that name a place."""
        places = ("data", "store", "api")
        return [f"--{name}" for name in places if getattr(self, name) is not None]


def named_place(flags: Flags, job: str | None = None) -> Where:
    """Return the crawl meant by flag, environment or configuration; a flag wins."""
    settings = _settings(flags)
    return _elsewhere(flags, settings, job) or Where(
        data=data_directory(settings.data, Path.cwd()), job=job
    )


def place_of_job(job: str | None, flags: Flags) -> Where:
    """Return the crawl meant by the id of its job, if nothing else names one."""
    settings = _settings(flags)
    if job is None or flags.named or settings.api is not None:
        return named_place(flags, job)
    directory = STATE_DIR / job
    if directory.is_dir():
        return Where(data=directory, job=job)
    elsewhere = _elsewhere(flags, settings, job)
    if elsewhere is None:
        raise ConfigError(
            f"job {job}: no state in {directory}; name its directory with --data DIR,"
            " its store with --store URL, or a service with --api URL"
        )
    return elsewhere


def place_of_jobs(job: str | None, flags: Flags) -> Where:
    """Return where jobs are: by flag, environment or configuration, else a crawl or master here."""
    settings = _settings(flags)
    if elsewhere := _elsewhere(flags, settings):
        return elsewhere
    directory = settings.data
    if directory is not None:
        if not directory.is_dir():
            wanted = "wanted that of a skitter up"
            raise DataDirError(f"--data {directory}: no such directory; {wanted}")
        return Where(data=directory)
    for name in (job, _UP):
        if name is not None and (STATE_DIR / name).is_dir():
            return Where(data=STATE_DIR / name)
    raise ConfigError(f"which jobs? {_nothing_usual()}")


def place_of_nodes(flags: Flags) -> Where:
    """Return the store meant by flag, environment or configuration, else the usual directory."""
    settings = _settings(flags)
    if elsewhere := _elsewhere(flags, settings):
        return elsewhere
    if settings.data is not None:
        return Where(data=data_directory(settings.data, Path.cwd()))
    usual = STATE_DIR / _UP
    if not usual.is_dir():
        raise ConfigError(f"which nodes? {_nothing_usual()}")
    return Where(data=usual)


def _nothing_usual() -> str:
    there = ", ".join(str(path) for path in _directories(STATE_DIR))
    here = f" (there are {there})" if there else ""
    return (
        f"nothing is in {STATE_DIR / _UP}; wanted --data DIR{here}, --store URL, or --api URL of"
        " a skitter up"
    )


def _settings(flags: Flags) -> Settings:
    if len(flags.named) > 1:
        raise ConfigError(f"{' and '.join(flags.named)}: wanted one of them")
    return resolve(asdict(flags), os.environ, Path.cwd()).settings


def _elsewhere(flags: Flags, settings: Settings, job: str | None = None) -> Where | None:
    """Return the service or the store that is meant; None when it is a directory."""
    if settings.api is not None and flags.data is None and flags.store is None:
        return Where(api=settings.api, token=_token(settings, settings.api), job=job)
    if settings.store is not None and flags.data is None:
        return Where(store=settings.store, cold=settings.cold, index=settings.index, job=job)
    return None


def _token(settings: Settings, api: str) -> str | None:
    """Return the token that was said, or the one a service of this machine has left."""
    if settings.token is not None or not _is_local(api):
        return settings.token
    path = (settings.data or STATE_DIR / _UP) / TOKEN_FILE
    try:
        return path.read_text(encoding="ascii").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def _is_local(api: str) -> bool:
    """Tell whether a service is on this machine: what is kept here is for no other."""
    try:
        host = urlsplit(api).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def data_directory(named: Path | None, cwd: Path) -> Path:
    """Return the state directory meant: the one named, else the only one there is."""
    if named is not None:
        if not named.is_dir():
            raise ConfigError(f"{named}: no such state directory")
        return named
    base = cwd / STATE_DIR
    match _directories(base):
        case [only]:
            return only
        case []:
            raise ConfigError(
                f"no crawl has left its state in {base}; name one with --data DIR, a store with"
                " --store URL, or a service with --api URL"
            )
        case found:
            names = ", ".join(str(path.relative_to(cwd)) for path in found)
            raise ConfigError(f"several crawls here; name one with --data DIR: {names}")


def _directories(base: Path) -> list[Path]:
    """Return the state directories of crawls; what nodes and others keep there is none."""
    found = sorted(path for path in base.iterdir() if path.is_dir()) if base.is_dir() else []
    return [path for path in found if (path / FRONTIER).is_dir()]
