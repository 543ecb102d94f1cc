"""What all tables of a job file share."""

from typing import Final

from pydantic import BaseModel, ConfigDict

OWN_VARIABLES: Final = "SKITTER_"
"""Tokens and store URLs are among them: no site is to get those."""


class Part(BaseModel):
    """A table: strict, frozen, and without keys of its own making.

    Its own errors do not repeat what was said, which may be a secret.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", hide_input_in_errors=True)
