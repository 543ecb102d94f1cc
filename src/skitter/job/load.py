"""Where jobs come from: a TOML or JSON file, words on the command line, or both.

What is said on the command line wins over the file, and the file over the defaults a person has
set up (configuration file, environment).
"""

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from skitter.errors import ConfigError, UrlError
from skitter.job.entry import entry_url
from skitter.job.fields import (
    Agent,
    Contact,
    DelayS,
    Depth,
    Keywords,
    Pages,
    Patterns,
    PerHost,
    RunSeconds,
    Size,
    TimeoutS,
)
from skitter.job.keywords import read_keywords
from skitter.job.parts import SeenKind
from skitter.job.secrets import anchored
from skitter.job.spec import Job, Order, Sitemaps, check_job
from skitter.url.scope import ScopeKind


def _keywords(value: object) -> object:
    """Take the words of a flag apart; a list is one already."""
    return read_keywords(value) if isinstance(value, str) else value


class JobSettings(BaseModel):
    """What can be said of a job in one word each; None means it was not said."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    scope: Annotated[ScopeKind, Field(strict=False)] | None = None
    depth: Depth | None = None
    pages: Pages | None = None
    time: RunSeconds | None = None
    total_bytes: Size | None = None
    order: Annotated[Order, Field(strict=False)] | None = None
    keywords: Annotated[Keywords, BeforeValidator(_keywords)] | None = None
    sitemaps: Annotated[Sitemaps, Field(strict=False)] | None = None
    traps: bool | None = None
    delay: DelayS | None = None
    per_host: PerHost | None = None
    include: Patterns | None = None
    exclude: Patterns | None = None
    timeout: TimeoutS | None = None
    max_bytes: Size | None = None
    agent: Agent | None = None
    contact: Contact | None = None
    robots: bool | None = None
    render: bool | None = None
    warc: str | None = None
    seen: Annotated[SeenKind, Field(strict=False)] | None = None
    expected: Size | None = None


PLACES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "scope": (("scope",),),
    "depth": (("depth",),),
    "pages": (("limits", "pages"),),
    "time": (("limits", "time"),),
    "total_bytes": (("limits", "bytes"),),
    "order": (("order",),),
    "keywords": (("keywords",),),
    "sitemaps": (("sitemaps",),),
    "traps": (("traps", "enabled"),),
    "delay": (("polite", "delay"),),
    "per_host": (("polite", "per_host"),),
    "include": (("include",),),
    "exclude": (("exclude",),),
    # One number from a person who waits: nothing takes longer, nothing gives up sooner.
    "timeout": (("http", "timeout"), ("http", "first_byte_timeout")),
    "max_bytes": (("http", "max_bytes"),),
    "agent": (("http", "agent"),),
    "contact": (("http", "contact"),),
    "robots": (("polite", "robots"),),
    "render": (("http", "render"),),
    "warc": (("archive", "directory"),),
    "seen": (("seen", "kind"),),
    "expected": (("seen", "expected"),),
}
"""Where in a job each setting goes."""


def load_job(path: Path) -> Job:
    """Return the job in a ``.toml`` or ``.json`` file, or raise a ``ConfigError``.

    Files that hold secrets are looked for from the directory of the job file.
    """
    job = check_job(_parse(path), str(path))
    folder = path.parent
    sinks = tuple(sink.anchored(folder) for sink in job.sinks)
    if sinks != job.sinks:
        job = job.model_copy(update={"sinks": sinks})
    http = job.http
    if not http.headers and not http.cookies:
        return job
    cookies = http.cookies
    if isinstance(cookies, str):
        cookies = anchored(cookies, folder)
    else:
        cookies = {name: anchored(value, folder) for name, value in cookies.items()}
    headers = {name: anchored(value, folder) for name, value in http.headers.items()}
    http = http.model_copy(update={"headers": headers, "cookies": cookies})
    return job.model_copy(update={"http": http})


def job_from_flags(
    entries: Sequence[str],
    *,
    flags: JobSettings,
    defaults: JobSettings | None = None,
    base: Job | None = None,
    seeds: str | None = None,
) -> Job:
    """Return the job of a command line: ``defaults`` < the file's ``base`` < ``flags``.

    ``seeds`` is the name of a seed list ("-" for standard input); it names a job that has
    neither id nor entries.
    """
    below = defaults or JobSettings()
    if base is not None and base.http.agents:
        below = below.model_copy(update={"agent": None})
    data = _nested(below)
    if base is not None:
        data = _merged(data, base.model_dump(exclude_unset=True))
    data = _merged(data, _nested(flags))
    if entries:
        data["entries"] = _checked_entries(entries)
    if seeds is not None and "id" not in data and not data.get("entries"):
        data["id"] = _seeds_id(seeds)
    return check_job(data, "job")


def read_document(path: Path) -> bytes:
    """Return a file's bytes or raise a ``ConfigError`` that names it."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error


def parse_toml(raw: bytes, source: str) -> dict[str, object]:
    """Return a TOML document or raise a ``ConfigError`` that says where it breaks."""
    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{source}: not UTF-8 text (byte {error.start})") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{source}: not valid TOML: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"{source}: not valid TOML: nested too deeply") from error


def parse_json(raw: bytes, source: str) -> object:
    """Return a JSON document or raise a ``ConfigError`` that says where it breaks."""
    try:
        return json.loads(raw.decode("utf-8-sig"), object_pairs_hook=_unique)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{source}: not UTF-8 text (byte {error.start})") from error
    except RecursionError as error:
        raise ConfigError(f"{source}: not valid JSON: nested too deeply") from error
    except ValueError as error:
        raise ConfigError(f"{source}: not valid JSON: {error}") from error


def document_of(path: Path) -> dict[str, Any]:
    """Return what a job file says as JSON has it, unchecked, for somebody else to check."""
    document = _parse(path)
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: wanted a table of settings")
    plain: dict[str, Any] = json.loads(json.dumps(document, default=str))
    return plain


def _parse(path: Path) -> object:
    match path.suffix.lower():
        case ".toml":
            return parse_toml(read_document(path), str(path))
        case ".json":
            data = parse_json(read_document(path), str(path))
            if not isinstance(data, dict):
                raise ConfigError(f"{path}: wanted a JSON object at the top")
            return data
        case _:
            raise ConfigError(f"{path}: wanted a job file that ends in .toml or .json")


def _unique(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"key {key!r} appears twice")
        found[key] = value
    return found


def _checked_entries(entries: Sequence[str]) -> list[str]:
    try:
        return [entry_url(entry) for entry in entries]
    except UrlError as error:
        raise ConfigError(str(error)) from error


def _nested(settings: JobSettings) -> dict[str, object]:
    data: dict[str, object] = {}
    for name, places in PLACES.items():
        value = getattr(settings, name)
        if value is None:
            continue
        for place in places:
            data = _merged(data, _wrapped(place, value))
    return data


def _wrapped(place: tuple[str, ...], value: object) -> dict[str, object]:
    head, *rest = place
    return {head: _wrapped(tuple(rest), value) if rest else value}


def _merged(below: Mapping[str, object], above: Mapping[str, object]) -> dict[str, object]:
    """Lay ``above`` over ``below``, table by table; everything else is replaced whole."""
    result = dict(below)
    for key, value in above.items():
        under = result.get(key)
        if isinstance(under, dict) and isinstance(value, dict):
            value = _merged(under, value)
        result[key] = value
    return result


def _seeds_id(seeds: str) -> str:
    if seeds == "-":
        return "stdin"
    path = Path(seeds).resolve()
    safe = "".join(char if char.isascii() and char.isalnum() else "-" for char in path.stem)
    tag = blake2b(str(path).encode(), digest_size=4).hexdigest()
    return f"{safe[:100].strip('-') or 'seeds'}-{tag}"
