"""Markup taken apart, token by token, over a buffer that never grows long.

No parser's rules are enforced: sitemaps are written by scripts that get them wrong, and what can
be read is read. Nothing is ever expanded or fetched: comments, processing instructions and
declarations are passed over without being kept, so time is linear and memory flat for any input.
"""

import re
from typing import Final

from skitter.parse.sitemap.declaration import Declaration
from skitter.parse.sitemap.escapes import escape, unescape

Token = tuple[int, str, str]
"""What it is, the name in lower case, and the attributes or the text as written."""

START: Final = 0
END: Final = 1
LEAF: Final = 2
"""A whole element that has a text and nothing else."""
EMPTY: Final = 3
"""A tag that closes itself."""
TEXT: Final = 4
"""Text outside of leaves, in as many pieces as it came in."""

_NAME: Final = r"[^\s<>/!?=&'\"]++"
# Groups are never possessive: Python 3.11.2 does not match those with a choice inside.
_INNER: Final = r"[^<>\"']*+(?:(?:\"[^\"<]*+\"|'[^'<]*+')[^<>\"']*+)*"
_LEAF: Final = re.compile(rf"<({_NAME})>([^<]*+)</\1>")
_TAG: Final = re.compile(rf"<(/?)({_NAME})({_INNER})>")
# The buffer ends inside what is no whole tag.
_CUT: Final = re.compile(rf"</?(?:{_NAME}[^<]*+)?\Z")
# Quotes that do not match.
_LOOSE: Final = re.compile(rf"<(/?)({_NAME})([^<>]*+)>")
# Of several, a tag may begin with the last.
_STRAY: Final = re.compile(r"<+(?=<)|<")
_ATTRIBUTE: Final = re.compile(
    rf"(?<![^\s\"'])({_NAME})\s*+=\s*+(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]++))"
)
_CDATA: Final = "<![CDATA["
_OPENINGS: Final = frozenset(("<!-", *(_CDATA[:size] for size in range(2, len(_CDATA)))))
_MAX_TAG_CHARS: Final = 64 * 1024
_LEAP_CHARS: Final = 2048


class Scanner:
    """Gives the tokens of the text it is fed."""

    __slots__ = (
        "_declaration",
        "_final",
        "_is_stuck",
        "_until",
        "has_entities",
        "keeps_text",
        "position",
        "text",
    )

    def __init__(self) -> None:
        self.text = ""
        """What is not read yet begins at ``position``."""
        self.position = 0
        self.keeps_text = False
        """Whether ``TEXT`` tokens are given."""
        self.has_entities = False
        """Whether a declaration of an entity has been passed over."""
        self._final = False
        self._is_stuck = False
        self._until = ""
        self._declaration: Declaration | None = None

    @property
    def is_between(self) -> bool:
        """Whether the next character is inside of nothing that is passed over."""
        return not self._until and self._declaration is None

    def feed(self, text: str, *, final: bool = False) -> None:
        """Add text; what the tokens so far took is let go."""
        self.text = self.text[self.position :] + text
        self.position = 0
        self._final = final
        self._is_stuck = False

    def next(self) -> Token | None:
        """Return the next token; None when more text is needed."""
        while True:
            token = self._step()
            if token is not None or self._is_stuck:
                return token

    def leap(self, name: str, unless: str) -> bool:
        """Pass over the rest of the element ``name`` if its end is near and simple to see.

        It is not where there are sections, others of the name or tags of ``unless`` on the way.
        """
        end = self.text.find(f"</{name}>", self.position, self.position + _LEAP_CHARS)
        if end < 0:
            return False
        for mark in ("<!", f"<{name}", f"<{unless}", f"</{unless}"):
            if self.text.find(mark, self.position, end) >= 0:
                return False
        self.position = end + len(name) + len("</>")
        return True

    def _step(self) -> Token | None:
        """Go one step on; None when it brought no token."""
        if self._until or self._declaration is not None:
            return self._inside()
        start = self.text.find("<", self.position)
        if start < 0 or (start > self.position and self.keeps_text):
            return self._text_before(start)
        leaf = _LEAF.match(self.text, start)
        if leaf is not None:
            self.position = leaf.end()
            return LEAF, leaf[1].lower(), leaf[2]
        tag = _TAG.match(self.text, start)
        return self._tag(tag) if tag is not None else self._odd(start)

    def _text_before(self, start: int) -> Token | None:
        if start < 0:
            start = len(self.text)
            self._is_stuck = start == self.position or not self.keeps_text
        piece = self.text[self.position : start]
        self.position = start
        return (TEXT, "", piece) if piece and self.keeps_text else None

    def _tag(self, tag: re.Match[str]) -> Token | None:
        self.position = tag.end()
        if tag.end() - tag.start() > _MAX_TAG_CHARS:
            return None
        slash, name, inner = tag.groups()
        name = name.lower()
        if slash:
            return END, name, ""
        if inner.endswith("/"):
            return EMPTY, name, inner[:-1]
        return START, name, inner

    def _odd(self, start: int) -> Token | None:
        """Read what begins with "<" and is no whole, well-formed tag."""
        text = self.text
        self.position = start
        if text.startswith(_CDATA, start):
            self._enter("]]>", start + len(_CDATA))
        elif text.startswith("<!--", start):
            # "<!-->" is a whole comment: its dashes serve twice.
            self._enter("-->", start + len("<!"))
        elif text.startswith("<?", start):
            self._enter(">", start)
        elif not self._final and text[start : start + len(_CDATA)] in _OPENINGS:
            self._is_stuck = True
        elif text.startswith("<!", start):
            self._declaration = Declaration()
            self.position = start + len("<!")
        else:
            return self._broken_tag(start)
        return None

    def _broken_tag(self, start: int) -> Token | None:
        if not self._final and _CUT.match(self.text, start):
            if len(self.text) - start > _MAX_TAG_CHARS:
                self._enter(">", start)
            else:
                self._is_stuck = True
            return None
        loose = _LOOSE.match(self.text, start)
        if loose is not None:
            return self._tag(loose)
        stray = _STRAY.match(self.text, start)
        assert stray is not None
        self.position = stray.end()
        return None

    def _enter(self, until: str, position: int) -> None:
        self._until = until
        self.position = position

    def _inside(self) -> Token | None:
        """Pass over what is no tag; the text of a CDATA section is given."""
        if self._declaration is not None:
            self._pass_declaration(self._declaration)
            return None
        until = self._until
        end = self.text.find(until, self.position)
        if end >= 0:
            piece = self.text[self.position : end]
            self.position = end + len(until)
            self._until = ""
        else:
            # The closing mark may be cut in two.
            end = max(self.position, len(self.text) - len(until) + 1)
            piece = self.text[self.position : end]
            self.position = end
            self._is_stuck = True
        if piece and until == "]]>" and self.keeps_text:
            return TEXT, "", escape(piece)
        return None

    def _pass_declaration(self, declaration: Declaration) -> None:
        self.position, ended = declaration.end(self.text, self.position, final=self._final)
        self.has_entities = self.has_entities or declaration.has_entities
        self._is_stuck = not ended
        if ended:
            self._declaration = None


def attributes(written: str) -> dict[str, str]:
    """Return the attributes of a tag by name in lower case; the first of a name counts."""
    found: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(written):
        found.setdefault(name.lower(), unescape(double or single or bare))
    return found
