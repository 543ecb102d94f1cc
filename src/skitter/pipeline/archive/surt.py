"""Sort keys of URLs as archives use them: the host reversed, what rarely matters left out.

"https://www.Example.com:443/b/?z=1&a=2" has the key "com,example)/b?a=2&z=1". Replay tools look
pages up by this key and make it themselves from what a reader types, so every rule here is theirs.
"""

import re
from functools import lru_cache
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

_URL: Final = re.compile(r"(https?)://(?:[^/?#]*@)?([^/?#]*)([^?#]*)(?:\?([^#]*))?", re.IGNORECASE)
_AUTHORITY: Final = re.compile(r"(\[[^\]]*\]|[^:]*)(?::([0-9]*))?")
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
_WWW: Final = re.compile(r"www[0-9]*\.")
_KEPT: Final = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
_PLAIN: Final = re.compile(r"[!\"$&-~]*")
"""What neither unquoting nor quoting changes."""

_PATH_SESSIONS: Final = tuple(
    re.compile(rf"(.*/){session}/(?=[^?]+\.aspx)", re.IGNORECASE)
    for session in (r"\((?:[a-z]\([0-9a-z]{24}\))+\)", r"\([0-9a-z]{24}\)")
)
_QUERY_SESSIONS: Final = tuple(
    re.compile(rf"(.*){session}(?:&|$)", re.IGNORECASE)
    for session in (
        "jsessionid=[0-9a-z]{32}",
        "phpsessid=[0-9a-z]{32}",
        "sid=[0-9a-z]{32}",
        "aspsessionid[a-z]{8}=[a-z]{24}",
        "cfid=[^&]+&cftoken=[^&]+",
    )
)
_MAYBE_SESSION: Final = re.compile("sid=|sessionid|cftoken=", re.IGNORECASE)


def surt_key(url: str) -> str:
    """Return the key of an http or https URL; the key of anything else is itself."""
    parts = _URL.match(url.strip())
    if parts is None:
        return url
    scheme, authority, path, query = parts.groups()
    key = f"{_host_key(scheme.lower(), authority)}){_path_key(path)}"
    query = _query_key(query) if query else ""
    return f"{key}?{query}" if query else key


@lru_cache(maxsize=4096)
def _host_key(scheme: str, authority: str) -> str:
    matched = _AUTHORITY.match(authority)
    assert matched is not None
    host, port = matched[1].strip("[]").lower(), matched[2]
    host = _ascii(_requoted(host) if "%" in host else host).replace("..", ".").strip(".")
    www = _WWW.match(host)
    if www is not None:
        host = host[www.end() :]
    labels = host.split(".")
    labels.reverse()
    key = ",".join(labels)
    if port and int(port) and port != _DEFAULT_PORTS[scheme]:
        return f"{key}:{int(port)}"
    return key


def _ascii(host: str) -> str:
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return quote_from_bytes(host.encode())


def _path_key(path: str) -> str:
    if _PLAIN.fullmatch(path) is None:
        path = _unquoted(path)
    path = _quoted(_normalised(path)).lower()
    if ".aspx" in path:
        for session in _PATH_SESSIONS:
            path = session.sub(r"\1", path, count=1)
    return path[:-1] if path.endswith("/") and len(path) > 1 else path


def _unquoted(text: str) -> str:
    """Undo percent escapes until none is left; bytes that are no UTF-8 survive as surrogates."""
    raw = text.encode("utf-8", "surrogateescape")
    while (plain := unquote_to_bytes(raw)) != raw:
        raw = plain
    return raw.decode("utf-8", "surrogateescape")


def _quoted(text: str) -> str:
    if _PLAIN.fullmatch(text) is not None:
        return text
    return quote_from_bytes(text.encode("utf-8", "surrogateescape"), safe=_KEPT)


def _requoted(text: str) -> str:
    return _quoted(_unquoted(text))


def _normalised(path: str) -> str:
    """Resolve dot segments and drop empty ones; the last one decides about a closing slash."""
    if "//" not in path and "/." not in path:
        return path or "/"
    kept: list[str] = []
    for segment in path.split("/")[1:]:
        if segment == ".." and kept:
            kept.pop()
        elif segment != ".":
            kept.append(segment)
    return "/" + "".join(f"{segment}/" for segment in kept[:-1] if segment) + "".join(kept[-1:])


def _query_key(query: str) -> str:
    if _PLAIN.fullmatch(query) is None:
        query = _requoted(query)
    if _MAYBE_SESSION.search(query) is not None:
        for session in _QUERY_SESSIONS:
            query = session.sub(r"\1", query, count=1)
    query = query.lower()
    if "&" not in query:
        return query
    return "&".join(sorted(query.split("&"), key=lambda pair: pair.split("=", 1)))
