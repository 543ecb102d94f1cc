"""What every message of the REST API is made of, and what goes wrong.

Times are RFC 3339 UTC, durations are seconds, lists come in pages: ``next`` is what to give as
``after`` for the following one, None at the end. A newer server may say more than is written here.
"""

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict


class Message(BaseModel):
    """Anything the API says."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)


class Wish(BaseModel):
    """Anything the API is told; an unknown name is refused, as it is in a job file."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class Problem(Message):
    """What went wrong: a word for programs, a sentence for people, and the field if it was one."""

    code: str
    message: str
    field: str | None = None


class ErrorBody(Message):
    """The one shape of every error."""

    error: Problem


class Role(StrEnum):
    """What a token may do: read, work with jobs and sites, or everything."""

    READER = "reader"
    OPERATOR = "operator"
    ADMIN = "admin"


class Health(Message):
    """Whether the service can do its work."""

    status: Literal["ok", "trouble"]
    version: str
    trouble: str = ""
    """Why not, in words."""


class Me(Message):
    """Who the token speaks for, and where the service keeps what it knows."""

    role: Role
    version: str
    store: str
    """"embedded", "redis" or "redis+postgresql": the home of the page index."""
    allow_private: bool
    archive: bool = False
    """Whether jobs may be archived, and so have media."""
    sinks: list[str]
    """Names of sinks the operator has set up for jobs from the API."""
