"""A key in, what is shown out."""

import re
from collections.abc import Mapping
from typing import Final

from skitter.api.dashboard.i18n.en import ENGLISH
from skitter.api.dashboard.i18n.zh import CHINESE
from skitter.api.dashboard.i18n.zh_said import SAID

TABLES: Final[Mapping[str, Mapping[str, str]]] = {"en": ENGLISH, "zh": CHINESE}
SENTENCES: Final = {"zh": [(re.compile(pattern), form) for pattern, form in SAID]}
NAMES: Final = {"en": "English", "zh": "中文"}


class Words:
    """One language: a key in, what is shown out."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._table = TABLES[language]

    def __call__(self, key: str, **values: object) -> str:
        """Return the words of ``key`` with ``values`` in their places."""
        text = self._table[key]
        return text.format(**values) if values else text

    def known(self, prefix: str, word: str) -> str:
        """Return the words for a value that may be newer than this table: itself then."""
        return self._table.get(f"{prefix}.{word}", word)

    def said(self, sentence: str) -> str:
        """Return what the service said in this language; as it was said where that is not known."""
        for pattern, form in SENTENCES.get(self.language, ()):
            if found := pattern.fullmatch(sentence):
                return form.format(
                    **{key: self.said(part) for key, part in found.groupdict().items()}
                )
        return sentence


def choose(cookie: str | None, accepted: str | None) -> str:
    """Return the language of a viewer: the remembered one, else the first that is known."""
    if cookie is not None and cookie in TABLES:
        return cookie
    for wish in (accepted or "").split(","):
        found = wish.strip()[:2].lower()
        if found in TABLES:
            return found
    return "en"
