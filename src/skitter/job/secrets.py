"""Where secrets of a job come from, and which of them go with a request.

A header or cookie may say ``env:NAME`` or ``file:PATH`` in place of its value. What is stored and
shown of a job is the word; the value is read when a crawl starts and goes to the network alone.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from skitter.errors import ConfigError
from skitter.job.cookies import CookieJar, has_controls, parse_cookies
from skitter.job.part import OWN_VARIABLES

ENV_PREFIX: Final = "env:"
FILE_PREFIX: Final = "file:"
MOST_BYTES: Final = 1 << 20
"""Of a file with a secret."""
_SECRET_WORDS = ("cookie", "auth", "token", "secret", "key", "session", "password")

Words = Mapping[str, str]
"""Names and their values, or where those are to be had."""


class OwnHeaders:
    """What a job adds to requests for its own sites; never stored, shown or logged."""

    def __init__(self, headers: Words, jar: CookieJar | None = None) -> None:
        self._headers = dict(headers)
        self._jar = jar

    @classmethod
    def read(
        cls, headers: Words, cookies: str | Words, environ: Words | None = None
    ) -> "OwnHeaders":
        """Fill in every word; raises ``ConfigError`` that names the one that cannot be."""
        source = os.environ if environ is None else environ
        found = {k: filled_in(f"http.headers.{k}", v, source) for k, v in headers.items()}
        if isinstance(cookies, str):
            path = cookies.removeprefix(FILE_PREFIX)
            return cls(
                found, parse_cookies(_text_of("http.cookies", path), f"http.cookies: {path}")
            )
        pairs = [(k, filled_in(f"http.cookies.{k}", v, source)) for k, v in cookies.items()]
        for name, value in pairs:
            if ";" in value:
                raise ConfigError(f"http.cookies.{name}: holds a semicolon, which ends a cookie")
        if pairs:
            found["Cookie"] = "; ".join(f"{name}={value}" for name, value in pairs)
        return cls(found)

    def __bool__(self) -> bool:
        """Tell whether there is anything to send."""
        return bool(self._headers) or self._jar is not None

    def for_url(self, url: str, now_s: float) -> Words:
        """Return the headers for a request to one of the job's own sites."""
        cookie = "" if self._jar is None else self._jar.header(url, now_s)
        return {**self._headers, "Cookie": cookie} if cookie else self._headers


def is_reference(value: str) -> bool:
    """Tell whether a value only says where it is to be had."""
    return value.startswith((ENV_PREFIX, FILE_PREFIX))


def may_be_stored(name: str, value: str) -> bool:
    """Tell whether a header may be kept with the job: no secret, as far as its name tells."""
    lowered = name.lower()
    return is_reference(value) or not any(word in lowered for word in _SECRET_WORDS)


def anchored(value: str, folder: Path) -> str:
    """Return a word with its path tied to a folder, where it is relative."""
    path = value.removeprefix(FILE_PREFIX)
    if path == value or path.startswith("~"):
        return value
    return f"{FILE_PREFIX}{folder.absolute() / path}"


def filled_in(where: str, value: str, environ: Words) -> str:
    """Return what a word stands for; raises ``ConfigError`` without the value in it."""
    if value.startswith(FILE_PREFIX):
        source = value.removeprefix(FILE_PREFIX)
        found: str | None = _text_of(where, source).removesuffix("\n").removesuffix("\r")
    elif value.startswith(ENV_PREFIX):
        source = value.removeprefix(ENV_PREFIX)
        if source.startswith(OWN_VARIABLES):
            raise ConfigError(f"{where}: {source} is Skitter's own; wanted another one")
        found = environ.get(source)
    else:
        return value
    if found is None:
        raise ConfigError(f"{where}: environment variable {source} is not set")
    if has_controls(found):
        raise ConfigError(f"{where}: {source} holds control characters")
    return found


def _text_of(where: str, path: str) -> str:
    try:
        with Path(path).expanduser().open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
        text = raw.decode("utf-8-sig")
    except (OSError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigError(f"{where}: {path}: cannot be read: {why}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{where}: {path}: not UTF-8 text (byte {error.start})") from None
    if len(raw) > MOST_BYTES:
        raise ConfigError(f"{where}: {path}: longer than {MOST_BYTES:,} bytes")
    return text
