"""A package of which parts are used, loaded as a whole only when somebody asks for more.

Of aiohttp a crawl needs the parser. The package itself imports its client as well, which takes a
third of the time in which a crawl starts: it reads the certificates of all authorities, twice.
"""

import sys
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from threading import RLock
from types import ModuleType

_LOADING = RLock()


class _Deferred(ModuleType):
    """Stands for a package: its modules can be imported, its own names come when first asked for.

    The package's own code then runs in this very module, so whoever holds it sees the real one.
    """

    def __getattr__(self, name: str) -> object:
        if name == "__version__":
            # Modules of the package ask for it in the midst of being imported.
            return version(self.__name__)
        if name in self.__dict__["_parts"]:
            return import_module(f"{self.__name__}.{name}")
        with _LOADING:
            if self.__class__ is _Deferred:
                self.__class__ = ModuleType  # type: ignore[assignment]
                spec = self.__spec__
                assert spec is not None
                assert spec.loader is not None
                spec.loader.exec_module(self)
        if name in self.__dict__:
            found: object = self.__dict__[name]
            return found
        message = f"module {self.__name__!r} has no attribute {name!r}"
        raise AttributeError(message)


def defer_package(name: str, parts: frozenset[str]) -> None:
    """Let the modules of a package be imported without it; nothing where it is there already.

    ``parts`` are the modules that are asked for as its attributes and do without the rest.
    """
    spec = None if name in sys.modules else find_spec(name)
    if spec is None or spec.submodule_search_locations is None:
        return
    package = _Deferred(name)
    package.__dict__["_parts"] = parts
    package.__spec__ = spec
    package.__path__ = spec.submodule_search_locations
    package.__file__ = spec.origin
    package.__package__ = name
    sys.modules[name] = package
