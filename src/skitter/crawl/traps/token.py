"""What one piece of a URL looks like: a word, a number, a title, a random id."""

import re
from functools import lru_cache

ID = "{id}"
SLUG = "{slug}"
NUMBER = "{n}"
MONTH = "{m}"

_SESSION = (
    "s sid sess session sessionid session_id sessid phpsessid jsessionid aspsessionid cfid cftoken "
    "token visit visitor visitorid oscsid zenid"
)
_RETURN = (
    "return returnto return_to returnurl return_url redirect redirect_to redirecturl redirect_uri "
    "backurl back_url referer referrer destination continue came_from"
)
_PAGING = "page p pg pn paged pageno page_no pagenum seite pagina start offset skip from cursor"
_MONTH = (
    "jan feb mar apr may jun jul aug sep sept oct nov dec january february march april june july "
    "august september october november december januar februar maerz mai juni juli oktober "
    "dezember janvier fevrier mars avril juin juillet aout septembre octobre novembre decembre "
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
)

SESSION_NAMES = frozenset(_SESSION.split())
"""Names before which a piece is somebody's session rather than a thing of the site."""
RETURN_NAMES = frozenset(_RETURN.split())
"""Names of parameters that hold the page a visitor came from."""
PAGING_NAMES = frozenset(_PAGING.split())
"""Names of parameters that say which page of a list is meant."""

_DIGITS = re.compile(r"\d+")
_HEX = re.compile(
    r"(?=[^\d]*\d)(?=.*[a-f])[0-9a-f]{8,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)
_ALNUM = re.compile(r"[A-Za-z0-9_~-]{8,}={0,2}")
# A stranger writes what is matched: nothing here may be tried in more ways than one, or a long row
# of underscores keeps the process busy for hours. An underscore belongs to the name where it can:
# "session_notes-2017" is no session.
_NAMED = re.compile(
    rf"\(?(?i:{_SESSION.replace(' ', '|')})"
    r"(?:[-=:.(](?:[-_=:.(]*[=:.(])?|_(?![A-Za-z_]*[-_][A-Za-z0-9_-]{3}))"
    r"[A-Za-z0-9_-]{3,}\)*",
    re.ASCII,
)
_TURNS = re.compile(r"[A-Za-z](?=\d)|\d(?=[A-Za-z])|[a-z](?=[A-Z])")
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{5,}", re.IGNORECASE)
_JOINTS = re.compile(r"[-_+.]|%20")
_MONTHS = frozenset(_MONTH.split())
# The names of most pages, told without a closer look: too short for an id, and no session.
_NUMBERED = re.compile(
    r"(?=[A-Za-z0-9]{1,7}(?![A-Za-z0-9]))([A-Za-z]*)[0-9]+(\.(?:s?html?|php|aspx?|jsp|pdf))?"
)
_MAX_WORD = 24
_MAX_KEPT = 80


def kind_of(piece: str) -> str:
    """Return ``piece`` with what may be counted on for ever taken out of it."""
    if numbered := _NUMBERED.fullmatch(piece):
        return f"{numbered[1]}{NUMBER}{numbered[2] or ''}"
    if len(piece) <= _MAX_KEPT:
        return _kind_of(piece)
    return ID if is_id(piece) else SLUG


@lru_cache(maxsize=16_384)
def _kind_of(piece: str) -> str:
    if ";" in piece:
        return ";".join(map(_parameter, piece.split(";")))
    if is_id(piece):
        return ID
    joints = _JOINTS.split(piece.lower())
    if len(joints) > 3 and not joints[0].isdigit():
        return SLUG
    if any(joint in _MONTHS for joint in joints):
        return "-".join(MONTH if joint in _MONTHS else _counted(joint) for joint in joints)
    if _DIGITS.search(piece) is None and len(piece) > _MAX_WORD:
        return SLUG
    return _counted(piece)


def _counted(text: str) -> str:
    return _DIGITS.sub(NUMBER, text)


def _parameter(text: str) -> str:
    name, equals, _ = text.partition("=")
    return f"{name}={ID}" if equals else _counted(name)


def is_id(piece: str) -> bool:
    """Tell whether ``piece`` looks drawn at random: nobody would choose it as a name."""
    if _NAMED.fullmatch(piece):
        return True
    stem = piece.rpartition(".")[0] or piece
    if _HEX.fullmatch(stem.lower()):
        return True
    if not _ALNUM.fullmatch(stem) or stem.isdigit():
        return False
    if _DIGITS.search(stem):
        return len(_TURNS.findall(stem)) >= max(3, len(stem) // 4)
    return _is_babble(stem)


def _is_babble(word: str) -> bool:
    """Tell whether letters alone make no word that could be spoken."""
    if "-" in word or "_" in word:
        return False
    mixed = len(_TURNS.findall(word)) >= max(3, len(word) // 4) and not word.islower()
    return bool(_CONSONANTS.search(word)) or mixed
