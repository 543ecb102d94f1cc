"""The image addresses in a srcset attribute (HTML Standard §4.8.4.2.1)."""

from collections.abc import Iterator


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
