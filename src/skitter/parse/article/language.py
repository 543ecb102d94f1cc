"""The language of a text: what the page says, unless its letters say otherwise."""

import re

from turbohtml import Element

from skitter.parse.article.stated import Stated

_SAMPLE = 1_500
_MIN_LETTERS = 20
_MIN_VOTES = 3
_MISTAKES = {"cn": "zh", "jp": "ja", "kr": "ko", "iw": "he", "in": "id", "ua": "uk", "gr": "el"}
_SCRIPTS = (
    ("ja", re.compile(r"[\u3040-\u30ff]"), 0.1),
    ("ko", re.compile(r"[\uac00-\ud7af\u1100-\u11ff]"), 0.2),
    ("zh", re.compile(r"[\u3400-\u9fff]"), 0.3),
    ("uk", re.compile(r"[іїєґІЇЄҐ]"), 0.03),
    ("ru", re.compile(r"[\u0400-\u04ff]"), 0.5),
    ("el", re.compile(r"[\u0370-\u03ff]"), 0.5),
    ("he", re.compile(r"[\u0590-\u05ff]"), 0.5),
    ("fa", re.compile(r"[پچژگک]"), 0.03),
    ("ar", re.compile(r"[\u0600-\u06ff]"), 0.5),
    ("th", re.compile(r"[\u0e00-\u0e7f]"), 0.5),
    ("hi", re.compile(r"[\u0900-\u097f]"), 0.5),
    ("bn", re.compile(r"[\u0980-\u09ff]"), 0.5),
    ("ta", re.compile(r"[\u0b80-\u0bff]"), 0.5),
    ("my", re.compile(r"[\u1000-\u109f]"), 0.5),
)
_KIN = {
    "ru": ("ru", "uk", "be", "bg", "sr", "mk", "kk", "ky", "mn", "tg", "tt"),
    "uk": ("uk", "ru", "be"),
    "ar": ("ar", "fa", "ur", "ps", "ku", "ug"),
    "fa": ("fa", "ur", "ps", "ku", "ug", "ar"),
    "zh": ("zh", "ja"),
    "hi": ("hi", "mr", "ne", "sa"),
    "he": ("he", "yi"),
}
"""Languages written in the letters of another: a statement is believed among them."""
_STOP_WORDS = {
    "en": "the and of to in is that for was with on are his this have from by not but they",
    "de": "der die und das den von zu mit ist des im für auf dem nicht ein eine als auch sich",
    "fr": "le la les des et en du une est que dans qui pour par sur pas plus au avec ce",
    "es": "el la los las de que y en un una por con para del se no su al lo como",
    "pt": "o a os as de que e em um uma por com para do da não no na se ao",
    "it": "il la di che e un una per con del della non sono le gli dei nel alla da si",
    "nl": "de het een en van in is dat op te met voor niet zijn aan er om bij ook als",
    "pl": "w i na z do się nie że to jest o jak po od przez dla za co przy był",
    "sv": "och att det i en på är som av för med den till inte har ett om de var",
    "da": "og at det i en på er som af for med den til ikke har et om de var der",
    "tr": "ve bir bu da de için ile olarak çok daha gibi kadar olan sonra ise ancak her",
    "id": "yang dan di ini dengan untuk dari tidak dalam akan pada itu juga ke karena ada",
    "vi": "và của là có trong được không với cho người một những các đã này",
    "ro": "și de la în a cu nu pe care din este o un pentru mai că sau",
    "cs": "a se v na je že o s z do to i pro za by jako po k ale podle",
    "fi": "ja on ei että se oli hän joka kun myös mutta ovat sen tai niin",
    "hu": "a az és hogy nem is egy van volt meg csak ez de mint már",
}
_WORDS = {language: frozenset(words.split()) for language, words in _STOP_WORDS.items()}
_LETTERS = re.compile(r"[^\W\d_]+")


def find_language(stated: Stated, root: Element | None, text: str) -> str | None:
    """Return the ISO 639-1 code of the language of ``text``."""
    claim = _primary(stated.head.language(root) or stated.text("inLanguage"))
    sample = text[:_SAMPLE]
    script = _script(sample)
    if script is not None:
        return claim if claim in _KIN.get(script, (script,)) else script
    return claim or _voted(sample)


def _primary(tag: str | None) -> str | None:
    code = (tag or "").strip().replace("_", "-").partition("-")[0].lower()
    code = _MISTAKES.get(code, code)
    return code if len(code) == 2 and code.isalpha() else None


def _script(sample: str) -> str | None:
    """Return the language that a script belongs to; None for Latin letters, or too few."""
    letters = sum(len(word) for word in _LETTERS.findall(sample))
    if letters < _MIN_LETTERS or sample.isascii():
        return None
    for language, script, share in _SCRIPTS:
        if len(script.findall(sample)) > share * letters:
            return language
    return None


def _voted(sample: str) -> str | None:
    """Return the language whose commonest words are the most of the words there."""
    words = _LETTERS.findall(sample.lower())
    votes = {language: sum(map(own.__contains__, words)) for language, own in _WORDS.items()}
    best = max(votes, key=votes.__getitem__)
    return best if votes[best] >= _MIN_VOTES else None
