"""``skitter probe encoding``: which encoding some bytes are in."""

import base64
import binascii
from pathlib import Path

from skitter.errors import ConfigError
from skitter.parse.encoding import sniff_encoding


def answer(question: dict[str, object]) -> dict[str, object]:
    """Answer ``{"b64" | "path", "content_type"}``; raises ``ConfigError`` naming a bad field."""
    content_type = question.get("content_type")
    if not isinstance(content_type, str | None):
        raise ConfigError(f"content_type: {content_type!r}; wanted a string or null")
    return {"encoding": sniff_encoding(read_body(question), content_type)}


def read_path(value: object) -> bytes:
    """Return the bytes of the file a question's ``path`` names."""
    if not isinstance(value, str):
        raise ConfigError(f"path: {value!r}; wanted a string")
    try:
        return Path(value).read_bytes()
    except (OSError, ValueError) as exc:
        raise ConfigError(f"path: {value!r}; wanted a readable file ({exc})") from exc


def read_body(question: dict[str, object]) -> bytes:
    """Return the bytes a question gives as ``b64`` or names by ``path``."""
    text = question.get("b64")
    if text is None:
        if question.get("path") is None:
            raise ConfigError("b64: missing; wanted base64 text, or a path")
        return read_path(question["path"])
    if not isinstance(text, str):
        raise ConfigError(f"b64: {text!r}; wanted a string")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as exc:
        raise ConfigError(f"b64: {text[:40]!r}; wanted base64 text ({exc})") from exc
