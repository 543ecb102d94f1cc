"""The image addresses in a srcset attribute (HTML Standard §4.8.4.2.1)."""

import re
from collections.abc import Iterator
from typing import Final

_ADDRESS: Final = re.compile(r"[\s,]*([^\s,]\S*)")
_DESCRIPTOR: Final = re.compile(r"[^,]*,?")
_SIZE: Final = re.compile(r"(?<!\S)(\d{1,9}(?:\.\d{1,9})?)[wx](?![^\s,])")


def srcset_urls(srcset: str) -> Iterator[str]:
    """Yield the address of each candidate.

    An address ends at white space, so it may hold commas; a descriptor ends at a comma, after
    which the next address may follow at once.
    """
    expects_url = True
    for token in srcset.split():
        if not expects_url:
            _, comma, token = token.partition(",")
            if not comma:
                continue
            expects_url = True
        if url := token.strip(","):
            yield url
            expects_url = token.endswith(",")


def largest(srcset: str) -> str | None:
    """Return the address of the widest or densest candidate, of equals the first; None for none."""
    found, most, at = None, 0.0, 0
    while address := _ADDRESS.match(srcset, at):
        url, at = address[1], address.end()
        size = 1.0
        if not url.endswith(","):
            said = _DESCRIPTOR.match(srcset, at)
            assert said is not None
            at = said.end()
            number = _SIZE.search(said[0])
            size = float(number[1]) if number else size
        if size > most:
            found, most = url.rstrip(","), size
    return found
