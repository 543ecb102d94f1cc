"""What all tables of a job file share."""

from typing import Final

from pydantic import BaseModel, ConfigDict, field_validator

OWN_VARIABLES: Final = "SKITTER_"
"""Tokens and store URLs are among them: no site is to get those."""

MOST: Final = 2**53 - 1
"""The largest number that every store and every program can hold as it is."""


class Part(BaseModel):
    """A table: strict, frozen, and without keys of its own making.

    Its own errors do not repeat what was said, which may be a secret.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", hide_input_in_errors=True)

    @field_validator("*")
    @classmethod
    def _fits(cls, value: object) -> object:
        """Refuse a number that a store could keep and could not tell anybody."""
        if isinstance(value, int) and abs(value) > MOST:
            raise ValueError(f"wanted a number up to {MOST}")
        return value
