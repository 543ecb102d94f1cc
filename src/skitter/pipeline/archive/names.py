"""Names of archive files: <job>-<serial>.warc.gz and the index beside each. Pure."""

import re
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal, NamedTuple

Compression = Literal["gzip", "zstd", "none"]

SUFFIXES: Final[dict[Compression, str]] = {
    "gzip": ".warc.gz",
    "zstd": ".warc.zst",
    "none": ".warc",
}
_MOST_NAME: Final = 120
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]")
_WARC: Final = r"\.warc(?:\.gz|\.zst)?"
_ANY_WARC: Final = re.compile(rf"(.+?)(?:-([0-9]{{5,}}))?{_WARC}")


class Own(NamedTuple):
    """A file of one job."""

    serial: int
    path: Path


def safe_name(job: str) -> str:
    """Return a job's id as the beginning of a file name.

    An id that cannot be one as it is gets a hash behind a sign that no plain id has, so that two
    jobs never share files.
    """
    plain = _UNSAFE.sub("_", job)[:_MOST_NAME].lstrip(".-") or "job"
    if plain == job:
        return plain
    return f"{plain}~{sha256(job.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def warc_name(job: str, serial: int, compression: Compression) -> str:
    """Return the name of a job's WARC file."""
    return f"{safe_name(job)}-{serial:05d}{SUFFIXES[compression]}"


def serial_of(name: str, job: str) -> int | None:
    """Return the serial in the name of a job's WARC file, or None when it is not one."""
    found = re.fullmatch(rf"{re.escape(safe_name(job))}-([0-9]{{5,}}){_WARC}", name)
    return int(found[1]) if found is not None else None


def own_files(directory: Path, job: str) -> list[Own]:
    """Return all files of a job, WARC and index, in no order; other people's are left out."""
    begin = re.escape(safe_name(job))
    pattern = re.compile(rf"{begin}-([0-9]{{5,}})(?:{_WARC}|\.cdxj(?:\.part|\.tmp)?)")
    return [
        Own(int(found[1]), path)
        for path in directory.iterdir()
        if (found := pattern.fullmatch(path.name)) is not None
    ]


def warc_files(directory: Path, job: str | None) -> list[Path]:
    """Return the WARC files of a job, or of everyone, in the order they were written."""
    found = [
        (parts[1], int(parts[2] or 0), path)
        for path in directory.iterdir()
        if (parts := _ANY_WARC.fullmatch(path.name)) is not None
    ]
    wanted = None if job is None else safe_name(job)
    return [path for begin, _, path in sorted(found) if wanted in (None, begin)]


def index_path(warc: Path) -> Path:
    """Return where the sorted index of a WARC file is."""
    return warc.with_name(re.sub(rf"{_WARC}$", "", warc.name) + ".cdxj")


def growing_index_path(warc: Path) -> Path:
    """Return where the index is while the WARC file grows."""
    return warc.with_name(index_path(warc).name + ".part")
