"""The page index of a service."""

from weakref import WeakKeyDictionary

from skitter.crawl.resolve.index import PageIndex
from skitter.wiring.service import Service

_indexes: WeakKeyDictionary[Service, PageIndex] = WeakKeyDictionary()


def index_of(service: Service) -> PageIndex:
    """Return the page index of a service; there is one, which remembers the rules of jobs."""
    found = _indexes.get(service)
    if found is None:
        found = _indexes[service] = PageIndex(service.store.reader, service.store.secret)
    return found
