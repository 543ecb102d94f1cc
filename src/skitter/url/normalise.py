"""From the text of a link to everything the crawl needs to know of it; the hot path.

``link`` is called for every href that is not remembered from an earlier page, so the common case
(same host, nothing to rewrite) does no more than join, test and hash.
"""

import re
from typing import NamedTuple

from skitter.errors import InvalidUrl
from skitter.types import Fingerprint, HostKey, Role
from skitter.url.canonical import Canonicaliser, CanonicalRules, fetch_url
from skitter.url.fingerprint import Fingerprinter
from skitter.url.host import host_key
from skitter.url.parse import Base, parse_http

_HOST = r"(?P<name>\[[0-9A-Fa-f:.]+\]|[\w-]+(?:\.[\w-]+)*\.?)"
_HOST_FIRST = re.compile(_HOST + r"(?P<port>:\d{1,5})?(?:[/?#].*)?", re.DOTALL)
# An href this many times over the cap cannot shrink under it by any spelling people use.
_HREF_SLACK = 4
# 253 characters is the longest name the DNS can hold; then ":" and a port.
_MAX_HOST = 253 + 6


class NormalUrl(NamedTuple):
    """A link made ready for the frontier."""

    url: str
    """What is requested."""
    canonical: str
    """What is compared."""
    host: HostKey
    fp: Fingerprint


class Normaliser:
    """Joins, canonicalises and fingerprints links under one set of rules and one key."""

    __slots__ = ("_canonical", "_fingerprint", "_max_href", "_max_length")

    def __init__(self, rules: CanonicalRules, fingerprinter: Fingerprinter) -> None:
        self._canonical = Canonicaliser(rules)
        self._fingerprint = fingerprinter
        self._max_length = rules.max_length
        self._max_href = rules.max_length * _HREF_SLACK

    def link(self, base: Base, href: str) -> NormalUrl | None:
        """Resolve a link of a page; None when it is not http(s), not valid or too long."""
        if len(href) > self._max_href:
            return None
        url = base.join(href)
        if url is None:
            return None
        if "#" in url or "@" in url:
            url = fetch_url(url)
        if len(url) > self._max_length:
            return None
        if url.startswith(base.prefix):
            host = base.host
        else:
            host = host_key(url)
            if len(host) > _MAX_HOST:
                return None
        canonical = self._canonical(url)
        return NormalUrl(url, canonical, host, self._fingerprint(canonical))

    def absolute(self, text: str) -> NormalUrl:
        """Read a URL a person wrote; a host name alone gets a scheme. Raises ``UrlError``."""
        url = fetch_url(parse_http(_with_scheme(text.strip())))
        if len(url) > self._max_length:
            raise InvalidUrl(text, f"longer than {self._max_length} characters")
        host = host_key(url)
        if len(host) > _MAX_HOST:
            raise InvalidUrl(text, "its host name is longer than the DNS can hold")
        canonical = self._canonical(url)
        return NormalUrl(url, canonical, host, self._fingerprint(canonical))

    def as_sitemap(self, normal: NormalUrl) -> NormalUrl:
        """Return the same URL as a list of URLs, which is known apart from the page."""
        return self.in_role(normal, Role.SITEMAP)

    def in_role(self, normal: NormalUrl, role: Role) -> NormalUrl:
        """Return the same URL as it is known in a role; a page is known by the URL alone."""
        if role is Role.PAGE:
            return normal
        return normal._replace(fp=self._fingerprint(f"{role.name.lower()} {normal.canonical}"))


def _with_scheme(text: str) -> str:
    """Put a scheme in front of "example.com/x" or "localhost:8080"; leave the rest as it is."""
    match = _HOST_FIRST.fullmatch(text)
    if match is None:
        return text
    name = match["name"]
    local = name.lower() == "localhost" or name[0] == "[" or name.rpartition(".")[2].isdigit()
    if not local and "." not in name:
        return text
    # Nobody issues certificates for these, so plain http is what is meant.
    return f"http://{text}" if local else f"https://{text}"
