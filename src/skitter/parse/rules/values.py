"""Numbers and dates as pages write them. Pure."""

import re
import unicodedata
from datetime import UTC, datetime

from skitter.parse.article.dates import read_date

_NUMBER = re.compile(r"[-+−]?(?:\d{1,3}(?: \d{3}(?!\d))+(?:[.,]\d+)?|\d+(?:[.,'’]\d+)*)")
_GROUPING = str.maketrans("", "", "'’ ")
_MOST_DIGITS = 300
_LARGEST = 2**63
"""Whole numbers from here on are no numbers: databases have no room for them."""


def read_number(text: str) -> int | float | None:
    """Return the first number in ``text``, whatever marks its thousands and decimals.

    Where one mark is left open, a comma before three digits is for thousands and a point for
    decimals. Spaces are for thousands where three digits follow each: "12 5" is 12.
    """
    found = _NUMBER.search(unicodedata.normalize("NFKC", text))
    if found is None or len(found[0]) > _MOST_DIGITS:
        return None
    digits = found[0].replace("−", "-").translate(_GROUPING)
    comma, point = digits.rfind(","), digits.rfind(".")
    if comma >= 0 and point >= 0:
        decimal = "," if comma > point else "."
    elif comma >= 0:
        is_decimal = digits.count(",") == 1 and len(digits) - comma - 1 != 3
        decimal = "," if is_decimal else "."
    else:
        decimal = "." if digits.count(".") == 1 else ","
    thousands = "," if decimal == "." else "."
    plain = digits.replace(thousands, "").replace(decimal, ".")
    if "." in plain:
        return float(plain)
    return whole if abs(whole := int(plain)) < _LARGEST else None


def read_time(text: str, form: str | None, now: float) -> str | None:
    """Return the date or time in ``text`` in RFC 3339, as ``form`` says or as it is understood."""
    if form is None:
        return read_date(text, now)
    try:
        moment = datetime.strptime(text.strip(), form)  # noqa: DTZ007  as the page has it
    except ValueError:
        return None
    if not any(part in form for part in ("%H", "%I", "%c", "%X", "%s")):
        return moment.date().isoformat()
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC)
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    return moment.isoformat(timespec="seconds")
