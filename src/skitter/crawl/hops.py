"""Redirect targets being fetched under another URL's lease.

While a hop is under way its target must not be queued by a page that links to it, or it would be
fetched twice. So the last thing before links are queued is to hold back those to such a target;
they are let go again when the visit ends without having settled it.
"""

from collections import deque

from skitter.frontier.model import Link
from skitter.types import Fingerprint


class Reservations:
    """The targets of redirects now being followed, by fingerprint."""

    def __init__(self) -> None:
        self._held: dict[Fingerprint, list[Link]] = {}
        self._leaving: deque[set[Fingerprint]] = deque()
        """Links on their way into the queue, the first first: the store does not know them yet."""

    def reserve(self, fp: Fingerprint) -> bool:
        """Take a target; False when another visit has it or it is about to be queued."""
        if fp in self._held or any(fp in links for links in self._leaving):
            return False
        self._held[fp] = []
        return True

    def pass_on(self, links: list[Link]) -> list[Link]:
        """Return the links that may be queued; those to reserved targets are kept here.

        Call ``arrived`` when the store has them.
        """
        passed = self.unreserved(links)
        self._leaving.append({link.fp for link in passed})
        return passed

    def unreserved(self, links: list[Link]) -> list[Link]:
        """Do the same for links that the store has before anything else happens."""
        if not self._held:
            return links
        return [link for link in links if not self._holds_back(link)]

    def _holds_back(self, link: Link) -> bool:
        held = self._held.get(link.fp)
        if held is None:
            return False
        if not held:
            held.append(link)
        return True

    def arrived(self, calls: int = 1) -> None:
        """Take note that the store knows what the first ``calls`` calls passed on."""
        for _ in range(calls):
            self._leaving.popleft()

    def release(self, fp: Fingerprint) -> list[Link]:
        """Let a target go; answers the links that were held back."""
        return self._held.pop(fp, [])
