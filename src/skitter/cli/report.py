"""What a fault looks like to a person: a line on standard error and an exit code."""

import os
import sys
import traceback
from collections.abc import Iterator

from skitter.errors import (
    ApiAway,
    ApiError,
    ConfigError,
    DataDirError,
    FrontierError,
    SinkError,
    SkitterError,
    UrlError,
)

OK = 0
INTERNAL_ERROR = 1
BAD_INPUT = 2
ENVIRONMENT = 3
INTERRUPTED = 130
BROKEN_PIPE = 141
"""128 + SIGPIPE, as a shell reports a tool whose reader went away."""


def report(error: BaseException) -> int:
    """Print ``error`` in one line per fact and return the exit code that goes with it."""
    cause = most_telling(error)
    for line in describe(cause).splitlines():
        complain(line)
    if os.environ.get("SKITTER_DEBUG"):
        traceback.print_exception(error)
    return exit_code(cause)


def complain(line: str) -> None:
    """Print one line on standard error under the program's name."""
    print(f"skitter: {line}", file=sys.stderr)


def exit_code(error: BaseException) -> int:
    """Return the exit code of DESIGN's table for ``error``."""
    match error:
        case ConfigError() | UrlError() | DataDirError():
            return BAD_INPUT
        case ApiError(status=status):
            # What a service refuses is bad input; what it cannot do now is its trouble.
            away = isinstance(error, ApiAway) or status == 429 or status >= 500
            return ENVIRONMENT if away else BAD_INPUT
        case FrontierError() | SinkError() | OSError() | MemoryError():
            return ENVIRONMENT
        case _:
            return INTERNAL_ERROR


def describe(error: BaseException) -> str:
    """Return ``error`` in words that name the thing."""
    match error:
        case SkitterError():
            return str(error) or type(error).__name__
        case OSError(filename=str(name), strerror=str(why)):
            return f"{name}: {why}"
        case OSError(strerror=str(why)):
            return why
        case MemoryError():
            return "out of memory"
        case _:
            hint = "" if os.environ.get("SKITTER_DEBUG") else " (SKITTER_DEBUG=1 shows where)"
            first = (str(error).splitlines() or [""])[0]
            return f"internal error: {type(error).__name__}: {first}{hint}"


def most_telling(error: BaseException) -> BaseException:
    """Return the one error of a group that explains it best: ours, then the system's."""
    leaves = list(_leaves(error))
    for kind in (SkitterError, OSError, BaseException):
        for leaf in leaves:
            if isinstance(leaf, kind):
                return leaf
    return error


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
