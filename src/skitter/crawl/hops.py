"""Redirect targets being fetched under another URL's lease.

While a hop is under way its target must not be queued by a page that links to it, or it would be
fetched twice. So the last thing before links are queued is to hold back those to such a target;
they are let go again when the visit ends without having settled it.
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

    def pass_on(self, links: list[Link]) -> list[Link]:
        """Return the links that may be queued; those to reserved targets are kept here."""
        if not self._held:
            return links
        passed = []
        for link in links:
            held = self._held.get(link.fp)
            if held is None:
                passed.append(link)
            elif not held:
                held.append(link)
        return passed

    def release(self, fp: Fingerprint) -> list[Link]:
        """Let a target go; answers the links that were held back."""
        return self._held.pop(fp, [])
