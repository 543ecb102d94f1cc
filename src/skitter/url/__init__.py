"""URLs: parsing, canonical form, fingerprint, host and domain, partition and scope. Pure."""

__all__ = [
    "canonical",
    "domain",
    "fingerprint",
    "host",
    "normalise",
    "parse",
    "partition",
    "query_encoding",
    "scope",
]
