"""The settings of one process, and where each of them was said.

Defaults < configuration file < environment < command line, resolved once and then frozen. The
same names serve everywhere: ``--per-host 2``, ``SKITTER_PER_HOST=2`` and ``per_host = 2`` in
``skitter.toml`` say the same thing. A job file stands between the environment and the command
line.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationError

from skitter.cluster.relief import Picker
from skitter.errors import ConfigError
from skitter.job.load import PLACES, JobSettings, parse_toml, read_document
from skitter.job.outputs import FILE_KINDS, Output
from skitter.job.problem import Vocabulary, refuse
from skitter.job.spec import Job

ENV_PREFIX: Final = "SKITTER_"
RESERVED_ENV: Final = frozenset({"SKITTER_CHROMIUM", "SKITTER_CONFIG", "SKITTER_DEBUG"})
"""Environment variables that are not settings."""
LOCAL_FILE: Final = "skitter.toml"
STATE_DIR: Final = Path(".skitter")
DEFAULT_CONCURRENCY: Final = 64

OUT_ENDINGS: Final = tuple(f".{kind.value}" for kind in FILE_KINDS)
_SAME_AS_JSONL = ".ndjson"


def _out_path(value: Path) -> Path:
    if value.suffix.lower() not in (*OUT_ENDINGS, _SAME_AS_JSONL):
        *most, last = OUT_ENDINGS
        raise ValueError(f"wanted a file that ends in {', '.join(most)} or {last}")
    return value


def _as_list(value: object) -> object:
    """Take one path for a list of one."""
    return [value] if isinstance(value, str | Path) else value


# Text in a file or the environment stands for a path; "~" is the person's home, as in a shell.
_Path = Annotated[Path, Field(strict=False), AfterValidator(Path.expanduser)]
_OutPath = Annotated[_Path, AfterValidator(_out_path)]
_OutPaths = Annotated[tuple[_OutPath, ...], Field(strict=False), BeforeValidator(_as_list)]


class Settings(JobSettings):
    """Everything that can be set for a process; None means it was not said."""

    data: _Path | None = None
    out: _OutPaths | None = None
    concurrency: Annotated[int, Field(ge=1, le=10_000)] | None = None
    hosts: _Path | None = None
    allow_private: bool | None = None
    egress: str | None = None
    fast: bool | None = None
    quiet: bool | None = None
    log_json: bool | None = None
    store: str | None = None
    cold: str | None = None
    index: str | None = None
    picker: Annotated[Picker, Field(strict=False)] | None = None
    control: str | None = None
    api: str | None = None
    token: str | None = None
    workers: Annotated[int, Field(ge=0, le=1_000)] | None = None
    max_workers: Annotated[int, Field(ge=1, le=1_000)] | None = None
    name: str | None = None
    idle_exit: Annotated[int, Field(ge=1)] | None = None
    host: str | None = None
    port: Annotated[int, Field(ge=0, le=65_535)] | None = None


SECRETS: Final = frozenset({"token"})
"""Settings that are never shown."""
VOCABULARY: Final = Vocabulary(model=Settings)


class Layer(IntEnum):
    """Who said a value; a higher one wins."""

    FILE = 1
    ENVIRONMENT = 2
    COMMAND_LINE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One value and where it was said, such as "skitter.toml" or "SKITTER_DELAY"."""

    value: object
    layer: Layer
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The settings of this process. Names nobody set are absent from ``said``."""

    settings: Settings
    said: Mapping[str, Said]
    sinks: Mapping[str, Output] = field(default_factory=dict)
    """What jobs that come over the API may name for their records; only a file can say it."""

    def job_flags(self) -> JobSettings:
        """Return what the command line says of the job; it wins over a job file."""
        return self._job_settings(Layer.COMMAND_LINE)

    def job_defaults(self) -> JobSettings:
        """Return what file and environment say of every job; a job file wins over it."""
        return self._job_settings(Layer.FILE, Layer.ENVIRONMENT)

    def _job_settings(self, *layers: Layer) -> JobSettings:
        return JobSettings.model_validate(
            {
                name: said.value
                for name, said in self.said.items()
                if name in PLACES and said.layer in layers
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What belongs to the process that crawls, not to the job."""

    data: Path
    """State directory; running again on it goes on where the crawl stopped."""
    out: tuple[Path, ...] = ()
    """Files for the records, each of the kind its ending says."""
    warc: Path | None = None
    """Directory of the archive; None writes none."""
    fresh: bool = False
    """Start over: what the data directory and the output hold of this job is deleted."""
    fast: bool = False
    """Leave out the fsync: a power failure may repeat the last pages, a crash does not."""
    concurrency: int = DEFAULT_CONCURRENCY
    """Requests in flight at most, over all hosts."""
    allow_private: bool = False
    """Let requests go to private, loopback and link-local addresses."""
    hosts: Path | None = None
    """A hosts(5) file that is asked before the DNS."""
    quiet: bool = False
    json: bool = False
    store: str | None = None
    """URL of a store that other machines use as well; None keeps the state in ``data``."""
    cold: str | None = None
    """URL of a database for the tails of that store's long queues."""
    index: str | None = None
    """URL of a database for that store's page index."""
    picker: Picker = Picker.HASH
    """Who serves large hosts that share a slot of such a store."""
    workers: int = 0
    """Worker processes on this machine beside the one that crawls."""


def resolve(flags: Mapping[str, object], environ: Mapping[str, str], cwd: Path) -> Resolved:
    """Return the settings of a process; a flag that is None was not given."""
    file = config_file(environ, cwd)
    in_file = {} if file is None else parse_toml(read_document(file), str(file))
    sinks = _sinks(in_file.pop("sinks", {}), lambda name: f"{file}: {name}")
    given = {name: value for name, value in flags.items() if value is not None}
    said: dict[str, Said] = {}
    for name, value in _checked(in_file, lambda name: f"{file}: {name}").items():
        said[name] = Said(value=value, layer=Layer.FILE, place=str(file))
    for name, value in _checked(_from_environment(environ), env_name, text=True).items():
        said[name] = Said(value=value, layer=Layer.ENVIRONMENT, place=env_name(name))
    for name, value in _checked(given, flag_name).items():
        said[name] = Said(value=value, layer=Layer.COMMAND_LINE, place=flag_name(name))
    settings = Settings.model_validate({name: one.value for name, one in said.items()})
    return Resolved(settings=settings, said=said, sinks=sinks)


def config_file(environ: Mapping[str, str], cwd: Path) -> Path | None:
    """Return the configuration file in force; one named by SKITTER_CONFIG must exist."""
    named = environ.get("SKITTER_CONFIG")
    if named:
        return Path(named).expanduser()
    local = cwd / LOCAL_FILE
    if local.is_file():
        return local
    home = environ.get("XDG_CONFIG_HOME") or "~/.config"
    own = Path(home).expanduser() / "skitter" / "config.toml"
    return own if own.is_file() else None


def run_options(
    resolved: Resolved, job: Job, *, fresh: bool = False, json: bool = False
) -> RunOptions:
    """Return the options of a crawl of ``job``, with the defaults that follow from its id."""
    settings = resolved.settings
    return RunOptions(
        data=settings.data or STATE_DIR / job.id,
        out=settings.out or job_files(job, Path(f"{job.id}.jsonl")),
        warc=Path(job.archive.directory).expanduser() if job.archive.directory else None,
        fresh=fresh,
        fast=bool(settings.fast),
        concurrency=settings.concurrency or DEFAULT_CONCURRENCY,
        allow_private=bool(settings.allow_private),
        hosts=settings.hosts,
        quiet=bool(settings.quiet),
        json=json,
        store=settings.store,
        cold=database_place(resolved, "cold", joins_store=settings.store is not None),
        index=database_place(resolved, "index", joins_store=settings.store is not None),
        picker=settings.picker or Picker.HASH,
        workers=settings.workers or 0,
    )


_WITHOUT_STORE: Mapping[str, str] = {
    "cold": "all queues are on disk",
    "index": "the page index is in the state directory",
}


def database_place(
    resolved: Resolved, name: Literal["cold", "index"], *, joins_store: bool
) -> str | None:
    """Return the database for a part of a shared store; no other store has such a place."""
    said = resolved.said.get(name)
    if said is None or joins_store:
        place: str | None = getattr(resolved.settings, name)
        return place
    if said.layer is Layer.COMMAND_LINE:
        why = _WITHOUT_STORE[name]
        raise ConfigError(f"--{name}: without --store {why}; wanted --store URL, too")
    return None


def job_files(job: Job, default: Path) -> tuple[Path, ...]:
    """Return the files for the records of a job; ``default`` for one that says nothing of them."""
    named = [sink.path for sink in job.sinks if sink.path is not None]
    return tuple(Path(path).expanduser() for path in named) if job.sinks else (default,)


def flag_name(name: str) -> str:
    """Return a setting as it is written on the command line; list positions are left out."""
    return "--" + name.partition("[")[0].replace("_", "-")


def env_name(name: str) -> str:
    """Return a setting as it is written in the environment; list positions are left out."""
    return ENV_PREFIX + name.partition("[")[0].upper()


def default_of(name: str) -> object:
    """Return the value a setting has when nobody says anything; None where it depends."""
    if name not in PLACES:
        return _PROCESS_DEFAULTS.get(name)
    found: object = Job()
    for part in PLACES[name][0]:
        found = getattr(found, part)
    return found


_PROCESS_DEFAULTS: Mapping[str, object] = {
    "data": STATE_DIR / "<job id>",
    "out": "<job id>.jsonl",
    "concurrency": DEFAULT_CONCURRENCY,
    "allow_private": False,
    "fast": False,
    "quiet": False,
    "log_json": False,
}


def _checked(
    data: Mapping[str, object], place: Callable[[str], str], *, text: bool = False
) -> dict[str, object]:
    """Return the values of one layer, checked; only those that were said.

    Values that are ``text`` are read for the type they should have.
    """
    try:
        settings = Settings.model_validate(data, strict=False if text else None)
    except ValidationError as error:
        raise refuse(error, VOCABULARY, place) from error
    return {name: getattr(settings, name) for name in data}


class _Sinks(BaseModel):
    sinks: dict[str, Output] = {}


def _sinks(data: object, place: Callable[[str], str]) -> dict[str, Output]:
    """Return the tables ``[sinks.NAME]`` of a file, checked."""
    try:
        found = _Sinks.model_validate({"sinks": data}).sinks
    except ValidationError as error:
        raise refuse(error, Vocabulary(model=_Sinks), place) from error
    for name, sink in found.items():
        if sink.keeps_secret:
            raise ConfigError(
                f"{place(f'sinks.{name}.url')}: a job with it is kept in the store, and a password"
                " is not; write env:NAME or file:PATH"
            )
    return found


def _from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    """Return the settings in the environment; an empty variable says nothing."""
    known = {env_name(name): name for name in Settings.model_fields}
    found: dict[str, object] = {}
    for variable in sorted(environ):
        if not variable.startswith(ENV_PREFIX) or variable in RESERVED_ENV:
            continue
        if variable not in known:
            near = get_close_matches(variable, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ConfigError(f"{variable}: unknown setting in the environment{hint}")
        if environ[variable]:
            found[known[variable]] = _env_value(known[variable], environ[variable])
    return found


def _env_value(name: str, text: str) -> object:
    """Split lists, which have one item a line; everything else is read from its text."""
    if name in ("include", "exclude", "out"):
        return [line for line in text.splitlines() if line.strip()]
    return text
