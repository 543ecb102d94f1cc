"""What was archived lately, by payload, so that a repeat need not be stored twice."""

from collections.abc import Mapping

from skitter.pipeline.archive.model import Original


class Recent:
    """The last payloads archived, up to ``limit``; those not met for longest are forgotten.

    Two generations: when the young one is full it becomes the old one, and the old one is dropped
    whole. Taking single entries off the front of a dictionary gets slower with every one taken.
    """

    def __init__(self, limit: int) -> None:
        self._half = max(limit // 2, 1)
        self._young: dict[bytes, bytes] = {}
        """Digest to date, space, URL: bytes take half the memory of two strings."""
        self._old: dict[bytes, bytes] = {}

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def find(self, digest: str) -> Original | None:
        """Return the response that has this payload, or None."""
        key = digest.encode()
        known = self._young.get(key)
        if known is None:
            known = self._old.pop(key, None)
            if known is None:
                return None
            self._keep(key, known)
        date, _, url = known.decode().partition(" ")
        return Original(url, date, digest)

    def add(self, originals: Mapping[str, Original]) -> None:
        """Remember responses by their digest."""
        for digest, original in originals.items():
            self._keep(digest.encode(), f"{original.date} {original.url}".encode())

    def _keep(self, key: bytes, known: bytes) -> None:
        if len(self._young) >= self._half:
            self._old, self._young = self._young, {}
        self._young[key] = known
