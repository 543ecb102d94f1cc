"""What a job from the API may say: nothing that reads this machine or reaches into its network."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from skitter.api.errors import ApiError
from skitter.crawl.resolve.lane import LANE
from skitter.errors import UrlError
from skitter.fetch.guard import special_kind, with_article
from skitter.job.entry import entry_host, entry_url
from skitter.job.secrets import is_reference
from skitter.wiring.service import ServiceOptions

LOCAL_NAMES = ("localhost", ".localhost", ".local", ".internal", ".home.arpa")


def checked_wish(wish: Mapping[str, Any], options: ServiceOptions) -> dict[str, Any]:
    """Return a job as the operator lets it be; raises, naming the field, when it cannot."""
    job = deepcopy(dict(wish))
    if job.get("id") == LANE:
        raise _refuse("id", f"{LANE} is the job of resolved pages; wanted another")
    refuse_files(job)
    _place_archive(job, options.archive)
    if not options.allow_private:
        _refuse_private(job.get("entries"))
    if "sinks" in job:
        job["sinks"] = _named_sinks(job["sinks"], job.get("id"), options.sinks)
    return job


def _refuse(field: str, why: str) -> ApiError:
    return ApiError(422, f"{field}: {why}", field)


def refuse_files(job: Mapping[str, Any]) -> None:
    """Raise, naming the field, when a job reads or writes something of this machine."""
    archive = job.get("archive")
    if isinstance(archive, Mapping) and archive.get("directory") is not None:
        raise _refuse("archive.directory", "a job from the API names no directory of this machine")
    http = job.get("http")
    if not isinstance(http, Mapping):
        return
    for table in ("headers", "cookies"):
        values = http.get(table)
        pairs = values.items() if isinstance(values, Mapping) else [("", values)]
        for name, value in pairs:
            if isinstance(value, str) and is_reference(value):
                field = f"http.{table}.{name}" if name else f"http.{table}"
                raise _refuse(field, "a job from the API reads no file and no variable from here")


def _place_archive(job: dict[str, Any], directory: str | None) -> None:
    """Let a job be archived where the operator wants it, if it has to be or says so."""
    archive = job.get("archive", {})
    if not isinstance(archive, Mapping):
        # What is wrong with it is told by the check of the job.
        return
    # One that was read from a service and is given back has the key, and says nothing with it.
    says_so = "archive" in job and "directory" not in archive
    if not job.get("media") and not says_so:
        return
    if directory is None:
        field = "media" if job.get("media") else "archive"
        raise _refuse(field, "this service keeps no archive; its operator may, with --warc DIR")
    job["archive"] = {**archive, "directory": directory}


def _refuse_private(entries: object) -> None:
    for number, entry in enumerate(entries if isinstance(entries, list) else []):
        if isinstance(entry, str) and (kind := private_kind(entry)):
            raise _refuse(f"entries[{number}]", f"{kind}; wanted an address that all can reach")


def private_kind(url: str) -> str | None:
    """Return why a URL is not one of the public web, as far as it tells by itself."""
    try:
        host = entry_host(entry_url(url)).rstrip(".").lower()
    except UrlError:
        return None
    kind = special_kind(host)
    if kind == "malformed":
        local = host == LOCAL_NAMES[0] or host.endswith(LOCAL_NAMES[1:])
        return "a name of this machine or its network" if local else None
    return None if kind is None else with_article(f"{kind} address")


def _named_sinks(
    wanted: object, job: object, known: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    if not isinstance(wanted, list):
        raise _refuse("sinks", "wanted a list")
    return [_sink(f"sinks[{number}]", one, job, known) for number, one in enumerate(wanted)]


def _sink(
    field: str, wanted: object, job: object, known: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    names = ", ".join(sorted(known)) or "none"
    if not isinstance(wanted, Mapping) or set(wanted) != {"name"}:
        why = (
            f'wanted {{"name": …}} of what the operator of the service has set up ({names});'
            " without sinks the service keeps the records itself, for skitter job export"
        )
        raise _refuse(field, why)
    found = known.get(str(wanted["name"]))
    if found is None:
        raise _refuse(f"{field}.name", f"there is none of that name; known: {names}")
    if "{job}" in str(found.get("path", "")):
        if not isinstance(job, str):
            raise _refuse("id", f"{field} is named after the job; wanted an id")
        return {**found, "path": found["path"].replace("{job}", job)}
    return dict(found)
