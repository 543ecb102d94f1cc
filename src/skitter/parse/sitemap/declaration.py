"""Markup declarations passed over, noting only whether they declare entities."""

import re
from typing import Final

_MARK: Final = re.compile(r"[\[\]<>\"']")
_COMMENT: Final = "<!--"
_ENTITY: Final = "<!ENTITY"


class Declaration:
    """Where a scan stands inside one ``<!…>``, which may hold others between brackets."""

    __slots__ = ("_brackets", "_inner", "_until", "has_entities")

    def __init__(self) -> None:
        self._until = ""
        self._brackets = 0
        self._inner = 0
        self.has_entities = False

    def end(self, text: str, position: int, *, final: bool) -> tuple[int, bool]:
        """Return how far the declaration goes in ``text``, and whether it ends there."""
        while True:
            if self._until:
                closing = text.find(self._until, position)
                if closing < 0:
                    # The end of a comment may be cut in two.
                    return max(position, len(text) - len(self._until) + 1), False
                position = closing + len(self._until)
                self._until = ""
            mark = _MARK.search(text, position)
            if mark is None:
                return len(text), False
            position = mark.start()
            if mark[0] == "<" and len(text) - position < len(_ENTITY) and not final:
                return position, False
            if self._pass(text, position):
                return position + 1, True
            position += 1

    def _pass(self, text: str, position: int) -> bool:
        """Take note of one mark; True when it ends the declaration."""
        match text[position]:
            case "<" if text.startswith(_COMMENT, position):
                self._until = "-->"
            case "<":
                self._inner += 1
                begins = text[position : position + len(_ENTITY)].upper()
                self.has_entities = self.has_entities or begins == _ENTITY
            case "[":
                self._brackets += 1
            case "]":
                self._brackets = max(0, self._brackets - 1)
            case ">" if self._inner:
                self._inner -= 1
            case ">":
                return self._brackets == 0
            case quote:
                self._until = quote
        return False
