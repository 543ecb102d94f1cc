"""The host parts of a serialised http(s) URL, by slicing.

Every function takes what ``parse`` returns: the scheme is lower case, a default port is absent
and a "/" ends the authority, so nothing has to be parsed again.
"""

from skitter.types import HostKey


def _authority(href: str) -> str:
    start = 8 if href[4] == "s" else 7
    authority = href[start : href.find("/", start)]
    # A raw "@" cannot stand in a host and is encoded in a user name: the last ends the userinfo.
    return authority[authority.rfind("@") + 1 :] if "@" in authority else authority


def undotted(authority: str) -> str:
    """Return ``authority`` without the root dot of its host: "a.com.:81" and "a.com:81" are one."""
    host, colon, port = authority.partition(":")
    # "1.2.." is a name, though no DNS name, while "1.2." would read as an IPv4 address.
    if host[-1] == "." and len(host) > 1 and host[-2] != ".":
        return f"{host[:-1]}{colon}{port}"
    return authority


def host_key(href: str) -> HostKey:
    """Return the politeness key: host, plus the port when it is not the scheme's default.

    http and https share it, and so do "a.com" and "a.com.", which are one name in the DNS.
    """
    authority = _authority(href)
    if authority[-1] == "." or ".:" in authority:
        authority = undotted(authority)
    return HostKey(authority)


def origin(href: str) -> str:
    """Return ``scheme://host[:port]``, the part robots.txt speaks for."""
    return f"{'https' if href[4] == 's' else 'http'}://{_authority(href)}"


def host_name(host: HostKey) -> str:
    """Return the host of a host key without its port; an IPv6 address keeps its brackets."""
    if host[0] == "[":
        return host[: host.index("]") + 1]
    return host.partition(":")[0]
