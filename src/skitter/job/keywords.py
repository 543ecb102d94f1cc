"""Keywords: what a crawl is about, as words or phrases on the command line or in a file.

``election, climate change`` are two keywords, ``election ballot`` are two as well: spaces separate
words only where no comma or semicolon does. Double quotes keep a phrase together. ``@FILE`` reads
one word or phrase a line; lines that begin with ``#`` are comments.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from unicodedata import normalize

from skitter.errors import ConfigError

MAX_KEYWORDS = 1_000
MAX_KEYWORD_CHARS = 100
MAX_FILE_BYTES = 1024 * 1024

_FLAG = "--keywords"
_WANTED = "wanted words or phrases separated by commas, or @FILE with one a line"
_SEPARATORS = re.compile(r"[,;\n，；、]")
_QUOTES = str.maketrans("“”„", '"""')


def read_keywords(text: str) -> tuple[str, ...]:
    """Return the keywords of the flag's value, folded, each once; raises ``ConfigError``."""
    if text.startswith("@"):
        return _from_file(Path(text[1:]))
    _refuse_foreign_bytes(text)
    return _checked(((_FLAG, word) for word in _words(text)), _FLAG)


def fold_keyword(word: str) -> str:
    """Return one keyword as it is compared; a ``ValueError`` says what is wrong with it.

    Case, width and spacing make no difference to a keyword.
    """
    folded = " ".join(normalize("NFKC", normalize("NFKC", word).casefold()).split())
    if len(folded) > MAX_KEYWORD_CHARS:
        raise ValueError(f"{folded[:20]!r}… is longer than {MAX_KEYWORD_CHARS} characters")
    if not any(char.isalnum() for char in folded):
        raise ValueError(f"{word!r} has no letter or digit")
    return folded


def _from_file(path: Path) -> tuple[str, ...]:
    return _checked(_lines(path, _read(path)), str(path))


def _read(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"{_FLAG}: {path}: cannot be read: {why}") from error
    if len(raw) > MAX_FILE_BYTES:
        raise ConfigError(f"{path}: longer than {MAX_FILE_BYTES} bytes; {_WANTED}")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start}); {_WANTED}") from error
    if "\0" in text:
        # UTF-16 without a mark, which happens to be valid UTF-8.
        raise ConfigError(f"{path}: not UTF-8 text (byte {raw.index(0)}); {_WANTED}")
    return text


def _lines(path: Path, text: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.lstrip().startswith("#"):
            for word in _SEPARATORS.split(line):
                yield f"{path}:{number}", word.strip().strip('"')


def _words(text: str) -> Iterator[str]:
    """Yield the words of a flag; what stands in quotes is one whatever it holds."""
    parts = text.translate(_QUOTES).split('"')
    if len(parts) % 2 == 0:
        raise ConfigError(f"{_FLAG}: a quote is not closed in {text!r}")
    listed = any(_SEPARATORS.search(part) for part in parts[::2])
    for place, part in enumerate(parts):
        if place % 2:
            yield part
        else:
            yield from _SEPARATORS.split(part) if listed else part.split()


def _refuse_foreign_bytes(text: str) -> None:
    """Refuse an argument that was not UTF-8: its bytes arrive as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        byte = len(text[: error.start].encode())
        raise ConfigError(f"{_FLAG}: not UTF-8 text (byte {byte}); {_WANTED}") from error


def _checked(words: Iterable[tuple[str, str]], source: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for place, word in words:
        if not word.strip():
            continue
        try:
            found[fold_keyword(word.strip())] = None
        except ValueError as error:
            raise ConfigError(f"{place}: {error}; {_WANTED}") from error
        if len(found) > MAX_KEYWORDS:
            raise ConfigError(f"{place}: more than {MAX_KEYWORDS} keywords")
    if not found:
        raise ConfigError(f"{source}: no keyword given; {_WANTED}")
    return tuple(found)
