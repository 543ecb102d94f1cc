"""Whether a body is wanted by its media type: told by the header, the URL or the first bytes."""

from skitter.errors import TypeRefused
from skitter.fetch.types import declared_type, guess_type, media_type, sniff_start, wanted_type
from skitter.fetch.wire import readable


class TypeDoubt:
    """A body whose first bytes alone can tell its type; none is refused where all are wanted."""

    __slots__ = ("_accept_types", "_header", "_url")

    def __init__(self, header: str | None, url: str, accept_types: tuple[str, ...]) -> None:
        self._header = header
        self._url = url
        self._accept_types = accept_types

    def settle(self, body: bytes) -> None:
        """Judge by a body, or its first bytes; an unwanted type raises ``TypeRefused``."""
        kind = guess_type(self._header, self._url, body)
        if not wanted_type(kind, self._accept_types):
            raise _refused(self._url, kind)

    def settles(self, start: bytes) -> bool:
        """Judge by the bytes that came so far, if they tell."""
        if sniff_start(start) is None:
            return False
        self.settle(start)
        return True


def judge_type(
    header: str | None, url: str, accept_types: tuple[str, ...]
) -> TypeRefused | TypeDoubt | None:
    """Return the refusal of a type that is not wanted, or the doubt; None for one that is."""
    kind = declared_type(header, url)
    if kind is None:
        return TypeDoubt(header, url, accept_types)
    if wanted_type(kind, accept_types):
        return None
    return _refused(url, header if header and media_type(header) else kind)


def _refused(url: str, kind: str) -> TypeRefused:
    if not kind.isascii():
        kind = readable(kind)
    why = f"media type {kind[:80]!r} is not wanted"
    return TypeRefused(url, why, status=200, content_type=kind)
