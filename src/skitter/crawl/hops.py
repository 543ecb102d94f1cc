"""Redirect targets being fetched under another URL's lease.

While a hop is under way its target must not be queued by a page that links to it, or it would be
fetched twice. Links to it are held back; they are let go again when the visit ends without having
settled the target.
"""

from skitter.frontier.model import Link
from skitter.types import Fingerprint


class Reservations:
    """The targets of redirects now being followed, by fingerprint."""

    def __init__(self) -> None:
        self._held: dict[Fingerprint, list[Link]] = {}

    def reserve(self, fp: Fingerprint) -> bool:
        """Take a target; False when another visit has it."""
        if fp in self._held:
            return False
        self._held[fp] = []
        return True

    def holds_back(self, link: Link) -> bool:
        """Keep a link to a reserved target; False when it is not reserved."""
        if not self._held:
            return False
        held = self._held.get(link.fp)
        if held is None:
            return False
        if not held:
            held.append(link)
        return True

    def release(self, fp: Fingerprint) -> list[Link]:
        """Let a target go; answers the links that were held back."""
        return self._held.pop(fp, [])
