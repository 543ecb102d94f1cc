"""Tags of jobs: one part for what a job was told, one for how it stands.

Who reads a job again is told whether anything is new. Who changes a job wants to know whether
somebody else has changed it, not whether it has fetched another page meanwhile.
"""

from hashlib import blake2b

from skitter.client.jobs import JobDetail


def etag_of(job: JobDetail) -> str:
    """Return the tag of a job as it is now."""
    return f'"{_told(job)}-{_digest(job.model_dump_json())}"'


def is_known(tag: str, if_none_match: str) -> bool:
    """Tell whether a reader has what it asks for already."""
    known = [one.strip().removeprefix("W/") for one in if_none_match.split(",")]
    return tag in known or known == ["*"]


def is_same_job(job: JobDetail, if_match: str) -> bool:
    """Tell whether a job was told nothing else since one of the tags was made."""
    tags = [one.strip().removeprefix("W/").strip('"') for one in if_match.split(",")]
    return "*" in tags or _told(job) in [tag.partition("-")[0] for tag in tags]


def _told(job: JobDetail) -> str:
    return _digest(repr(sorted(job.spec.items())))


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()
