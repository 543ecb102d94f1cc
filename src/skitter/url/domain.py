"""Registered domains by the public suffix list.

The registered domain is one label more than the public suffix: "example.co.uk" of
"www.example.co.uk". Suffixes that companies run for their users ("github.io") count as public:
two users' sites there are strangers.
"""

from functools import cache, lru_cache

from publicsuffixlist import PublicSuffixList

_DOMAINS_KEPT = 1 << 16


@lru_cache(maxsize=_DOMAINS_KEPT)
def registered_domain(host: str) -> str | None:
    """Return the registered domain of a host name without port.

    None for IP addresses, public suffixes and single labels such as "localhost". The answer is in
    the spelling of the question: punycode for punycode.
    """
    if is_address(host):
        return None
    found: str | None = _suffixes().privatesuffix(host)
    return found


@lru_cache(maxsize=_DOMAINS_KEPT)
def public_suffix(host: str) -> str | None:
    """Return the public suffix of a host name if the list has it; None for an invented one."""
    if is_address(host):
        return None
    found: str | None = _suffixes().publicsuffix(host, accept_unknown=False)
    return found


def is_address(host: str) -> bool:
    """Tell whether a serialised host is an IP address; names never end in a number there."""
    return host[:1] == "[" or host[host.rfind(".") + 1 :].isdigit()


@cache
def _suffixes() -> PublicSuffixList:
    # Reading the list takes longer than starting up may; it waits for the first question.
    return PublicSuffixList()
