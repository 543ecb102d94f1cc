"""Keyed 64-bit fingerprints of canonical URLs.

Links are chosen by whoever writes a page, so the hash is keyed: without the frontier's secret
nobody can make two URLs that collide and so hide one of them from the crawl.
"""

import secrets
from hashlib import blake2b

from skitter.types import Fingerprint

KEY_BYTES = 32
_DIGEST_BYTES = 8


def new_key() -> bytes:
    """Return a fresh secret for one frontier; it must be kept as long as its fingerprints."""
    return secrets.token_bytes(KEY_BYTES)


class Fingerprinter:
    """Maps canonical URLs to fingerprints under one key; call it with the URL."""

    __slots__ = ("_keyed",)

    def __init__(self, key: bytes) -> None:
        if not 16 <= len(key) <= blake2b.MAX_KEY_SIZE:
            raise ValueError(f"a key of {len(key)} bytes; wanted 16 to {blake2b.MAX_KEY_SIZE}")
        self._keyed = blake2b(digest_size=_DIGEST_BYTES, key=key)

    def __call__(self, canonical: str) -> Fingerprint:
        """Return the fingerprint of ``canonical``, from 0 to 2**64 - 1."""
        # A copy of the keyed state is cheaper than keying again.
        state = self._keyed.copy()
        state.update(canonical.encode())
        return Fingerprint(int.from_bytes(state.digest(), "big"))
