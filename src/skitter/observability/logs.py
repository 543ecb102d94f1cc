"""The log as lines of JSON, for whatever collects logs.

Each line has a time, a level, who says it, the sentence, and what belongs to it as fields of its
own. Secrets are taken out of all of them before anything is written. Processes inherit the choice
from whoever starts them, through the environment.
"""

import logging
import os
import re
from collections.abc import Mapping, MutableMapping
from typing import Any, Final, TextIO

from skitter.errors import ConfigError

VARIABLE: Final = "SKITTER_LOG_JSON"
HIDDEN: Final = "***"
OWN: Final = "skitter"

_SECRET_NAMES = re.compile(r"(?i)(token|secret|password|authorization|cookie|api_?key)")
_PATTERNS: Final = (
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]+"), rf"\1 {HIDDEN}"),
    (re.compile(r"(?i)([\w-]*(?:token|secret|password|api_?key)[\w-]*=)[^&\s,;]+"), rf"\1{HIDDEN}"),
    (re.compile(r"(\w://)[^/\s@]+@"), rf"\1{HIDDEN}@"),
)

Fields = MutableMapping[str, Any]


def is_json(environ: Mapping[str, str] = os.environ) -> bool:
    """Tell whether the log is to be JSON."""
    return environ.get(VARIABLE, "").lower() in {"1", "true", "yes", "on"}


def want_json(*, wanted: bool | None) -> None:
    """Choose for this process and for those it starts; None leaves it as it is."""
    if wanted is not None:
        os.environ[VARIABLE] = "true" if wanted else "false"


def json_handler(stream: TextIO) -> logging.Handler:
    """Return a handler that writes lines of JSON; of others than ourselves only warnings."""
    try:
        import structlog  # noqa: PLC0415  only for those who want it
    except ImportError as error:
        raise ConfigError("--log-json: wanted structlog; pip install skitter[api]") from error
    processors: list[Any] = [
        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
        structlog.processors.format_exc_info,
        without_secrets,
        structlog.processors.JSONRenderer(ensure_ascii=False, default=str),
    ]
    handler = logging.StreamHandler(stream)
    before: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
        _with_process,
    ]
    formatter = structlog.stdlib.ProcessorFormatter(processors=processors, foreign_pre_chain=before)
    handler.setFormatter(formatter)
    handler.addFilter(_is_of_interest)
    return handler


def without_secrets(logger: object, method: str, fields: Fields) -> Fields:
    """Hide whatever looks like a secret, by its name or by what stands before it."""
    del logger, method
    for name, value in fields.items():
        if _SECRET_NAMES.search(name):
            fields[name] = HIDDEN
        elif isinstance(value, str):
            fields[name] = hidden(value)
    return fields


def hidden(text: str) -> str:
    """Return a text without the secrets in it."""
    for pattern, instead in _PATTERNS:
        text = pattern.sub(instead, text)
    return text


def _with_process(logger: object, method: str, fields: Fields) -> Fields:
    del logger, method
    fields["pid"] = os.getpid()
    return fields


def _is_of_interest(record: logging.LogRecord) -> bool:
    own = record.name == OWN or record.name.startswith(f"{OWN}.")
    return record.levelno >= (logging.INFO if own else logging.WARNING)
