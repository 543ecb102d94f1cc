"""Matches the path of a URL against the patterns of robots.txt, in time linear in both.

RFC 9309 §2.2.2 compares percent-encoded text after decoding what needs no encoding; Google's
reference matcher compares it as written. A Disallow is read *wide*, as the RFC says, so that no
spelling of a forbidden path slips through; an Allow is read *narrow*, as Google does, so that it
opens no more than what is written.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

_HTTP_PATH = re.compile(r"https?://[^/?;#]*(/[^#]*)")
_PATH_START = re.compile(r"[/?;]")

_LOWER_ESCAPE = r"%(?:[0-9A-Fa-f][a-f]|[a-f][0-9A-Fa-f])"
_UNRESERVED_ESCAPE = r"%(?:2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])"
_IN_A_URL = r"A-Za-z0-9\-._~!&()+,;=:@/?\[\]#"
_NOT_IN_A_URL = rf"[^{_IN_A_URL}%]"

_USUAL = re.compile(rf"[{_IN_A_URL}]*")
# Each finds only what must change: most escapes in URLs are of non-ASCII text and stay.
_WIDE = re.compile(f"{_LOWER_ESCAPE}|{_UNRESERVED_ESCAPE}|{_NOT_IN_A_URL}")
_NARROW = re.compile(f"{_LOWER_ESCAPE}|%7E")

_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def path_of(url: str) -> str:
    """Return what robots rules are matched against: path, parameters and query of ``url``.

    Takes anything: a text without a path gives "/", a scheme is optional.
    """
    usual = _HTTP_PATH.match(url)
    if usual is not None:
        return usual[1]
    start = 2 if url.startswith("//") else 0
    early = _PATH_START.search(url, start)
    scheme = url.find("://", start)
    if scheme >= 0 and (early is None or scheme < early.start()):
        early = _PATH_START.search(url, scheme + 3)
    fragment = url.find("#", start)
    end = len(url) if fragment < 0 else fragment
    if early is None or early.start() > end:
        return "/"
    path = url[early.start() : end]
    return path if path.startswith("/") else "/" + path


def spellings(path: str) -> tuple[str, str]:
    """Return the wide and the narrow spelling of ``path``; most paths have only one."""
    if _USUAL.fullmatch(path) is not None or _WIDE.search(path) is None:
        return path, path
    return _wide(path), _narrow(path)


def escape(value: bytes) -> str:
    """Return a rule's value as ASCII: bytes beyond it as upper-case percent escapes.

    The length of the result is the rule's weight: the longest matching rule wins.
    """
    if value.isascii():
        return value.decode("ascii")
    return "".join(chr(byte) if byte < 0x80 else f"%{byte:02X}" for byte in value)


def _wide(text: str) -> str:
    return _WIDE.sub(_widen, text)


def _narrow(text: str) -> str:
    return _NARROW.sub(_narrow_escape, text)


def _widen(found: re.Match[str]) -> str:
    text = found[0]
    if len(text) == 3:
        plain = chr(int(text[1:], 16))
        return plain if plain in _UNRESERVED else text.upper()
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogatepass"))


def _narrow_escape(found: re.Match[str]) -> str:
    # RFC 3986 §2.3: old software escapes the tilde; both spellings are common in rules.
    text = found[0].upper()
    return "~" if text == "%7E" else text


class Wildcard:
    """One pattern with ``*`` or a final ``$``, cut into the literal pieces between the stars."""

    __slots__ = ("_anchored", "_head", "_pieces", "_tail", "needle")

    def __init__(self, pieces: list[str], *, anchored: bool) -> None:
        self._head = pieces[0]
        self._anchored = anchored
        self._tail = pieces[-1] if anchored and len(pieces) > 1 else None
        last = len(pieces) if self._tail is None else len(pieces) - 1
        self._pieces = tuple(piece for piece in pieces[1:last] if piece)
        self.needle = max(pieces, key=len)
        """A text every match contains; asking for it first rejects most paths cheaply."""

    def matches(self, path: str) -> bool:
        """Tell whether the pattern matches ``path`` from its first character on."""
        if not path.startswith(self._head):
            return False
        at = len(self._head)
        # Taking each piece where it first occurs leaves the most room for the ones after it,
        # so that no way back is ever needed.
        for piece in self._pieces:
            at = path.find(piece, at)
            if at < 0:
                return False
            at += len(piece)
        if not self._anchored:
            return True
        if self._tail is None:
            return at == len(path)
        return len(path) - len(self._tail) >= at and path.endswith(self._tail)


class Rule(NamedTuple):
    """One Allow or Disallow line of the group that applies."""

    allow: bool
    pattern: str
    """The value with bytes beyond ASCII escaped; its length is the rule's weight."""
    line: int

    def __str__(self) -> str:
        return f"{'Allow' if self.allow else 'Disallow'}: {self.pattern}"


class RuleTable:
    """The Allow or the Disallow rules of one group, arranged to find the weightiest match."""

    __slots__ = ("_lengths", "_plain", "_wild")

    def __init__(self, rules: Iterable[tuple[str, Rule]], *, wide: bool) -> None:
        self._plain: dict[str, tuple[int, Rule]] = {}
        wild: list[tuple[int, str, Wildcard, Rule]] = []
        spell = _wide if wide else _narrow
        for pattern, rule in rules:
            anchored = pattern.endswith("$")
            pieces = [spell(p) for p in pattern.removesuffix("$").split("*")]
            weight = len(pattern)
            if anchored or any(pieces[1:]):
                wildcard = Wildcard(pieces, anchored=anchored)
                wild.append((weight, wildcard.needle, wildcard, rule))
            elif weight > self._plain.get(pieces[0], (0, rule))[0]:
                self._plain[pieces[0]] = (weight, rule)
        wild.sort(key=lambda entry: -entry[0])
        self._wild = tuple(wild)
        self._lengths = tuple(sorted({len(prefix) for prefix in self._plain}))

    def best(self, path: str) -> tuple[int, Rule] | None:
        """Return the weight and the rule of the weightiest match, or None."""
        found: tuple[int, Rule] | None = None
        weight = 0
        size = len(path)
        plain = self._plain
        for length in self._lengths:
            if length > size:
                break
            entry = plain.get(path[:length])
            if entry is not None and entry[0] > weight:
                found = entry
                weight = entry[0]
        for heft, needle, wildcard, rule in self._wild:
            if heft <= weight:
                break
            if needle in path and wildcard.matches(path):
                return heft, rule
        return found

    def __bool__(self) -> bool:
        return bool(self._plain or self._wild)
