"""Where sitemaps and feeds are, when nobody says so, and how their addresses look."""

import re
from typing import Final

_WELL_KNOWN: Final = ("sitemap.xml", "sitemap_index.xml", "sitemap.xml.gz", "sitemap.txt")
_PATH: Final = re.compile(
    r"\.(?:xml|rss|atom|rdf)(?:\.gz)?/?\Z"
    r"|/(?:feed|rss|atom)/?\Z",
    re.IGNORECASE,
)
_QUERY: Final = re.compile(r"(?:\A|&)feed=(?:rss2?|atom|rdf)(?:&|\Z)", re.IGNORECASE)


def well_known(origin: str) -> list[str]:
    """Return the usual addresses of a site's sitemaps, the commonest first.

    ``origin`` is scheme, host and port, as in "https://example.com".
    """
    return [f"{origin.rstrip('/')}/{name}" for name in _WELL_KNOWN]


def looks_like_sitemap(url: str) -> bool:
    """Tell whether an address names a sitemap or a feed rather than a page."""
    address, _, query = url.partition("#")[0].partition("?")
    # Behind the scheme and the host.
    path = address.partition("://")[2].partition("/")[2]
    name = path.rpartition("/")[2].lower()
    if "sitemap" in name and name.endswith((".txt", ".gz")):
        return True
    return _PATH.search(f"/{path}") is not None or _QUERY.search(query) is not None
