"""When pages are visited again: never, after a fixed time, or not within some days.

In a job file it is a word ("never"), a time ("10m") or a table with a policy.
"""

import re
from enum import StrEnum
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_LONGEST_S: Final = 10 * 365 * 86_400
WANTED: Final = (
    'wanted "never", a time such as "10m", or a table such as {policy = "window", days = 3}'
)


class Policy(StrEnum):
    """By what it is decided that a page is visited again."""

    NEVER = "never"
    PERIOD = "period"
    """Navigation pages come again after a fixed time, data pages never."""
    WINDOW = "window"
    """Every page comes again, but not within some days."""


class Refresh(BaseModel):
    """When pages are visited again."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    policy: Annotated[Policy, Field(strict=False)] = Field(
        default=Policy.NEVER, description="`never`, `period` or `window`."
    )
    every: str | None = Field(
        default=None,
        description='For `period`: how long after a visit a nav page is visited again: "90s",'
        ' "10m", "6h", "2d".',
    )
    days: Annotated[float, Field(gt=0, le=3_650, strict=False)] | None = Field(
        default=None, description="For `window`: how many days a page is left alone after a visit."
    )

    @model_validator(mode="after")
    def _fits_policy(self) -> "Refresh":
        if (self.policy is Policy.PERIOD) != (self.every is not None):
            raise ValueError('policy period, and no other, wants every, a time such as "10m"')
        if (self.policy is Policy.WINDOW) != (self.days is not None):
            raise ValueError("policy window, and no other, wants days, a number")
        if self.every is not None:
            read_time_s(self.every)
        return self

    @property
    def seconds(self) -> float | None:
        """After how many seconds a page is visited again; None for never."""
        if self.every is not None:
            return read_time_s(self.every)
        return None if self.days is None else self.days * 86_400


def read_time_s(text: str) -> float:
    """Return a time such as "10m" in seconds; raises ``ValueError`` for anything else."""
    found = _TIME.fullmatch(text.strip())
    if found is None:
        raise ValueError('wanted a time such as "90s", "10m", "6h" or "2d"')
    seconds = float(found[1]) * _SECONDS[found[2]]
    if not 1 <= seconds <= _LONGEST_S:
        raise ValueError("wanted a time from 1s to ten years")
    return seconds


def _read(value: object) -> object:
    match value:
        case "never":
            return {}
        case str():
            if _TIME.fullmatch(value.strip()) is None:
                raise ValueError(WANTED)
            read_time_s(value)
            return {"policy": Policy.PERIOD, "every": value}
        case dict() | Refresh():
            return value
        case _:
            raise ValueError(WANTED)


RefreshRule = Annotated[Refresh, BeforeValidator(_read, json_schema_input_type=str | Refresh)]
