"""The scripts that run inside the store: one library, put together from the files beside this."""

from functools import cache
from importlib.resources import files

NAME = "skitter2"
"""Versions whose scripts differ in what they expect have libraries of different names."""


@cache
def library() -> str:
    """Return the whole library; a file may use what those before it define."""
    folder = files("skitter.frontier.redis").joinpath("lua")
    parts = sorted((part for part in folder.iterdir() if part.name.endswith(".lua")), key=_name)
    return "\n".join([f"#!lua name={NAME}", *(part.read_text("utf-8") for part in parts)])


def function(verb: str) -> str:
    """Return the name under which the store knows a script."""
    return f"{NAME}_{verb}"


def _name(part: object) -> str:
    return str(getattr(part, "name", ""))
