"""Skitter: a distributed web crawler with a durable frontier."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skitter.client.blocking import Client
    from skitter.client.http import AsyncClient
else:

    def __getattr__(name):
        """Load a client when it is first asked for: most processes need none."""
        from importlib import import_module  # noqa: PLC0415  as late as what it imports

        homes = {"AsyncClient": "skitter.client.http", "Client": "skitter.client.blocking"}
        if name not in homes:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    def __dir__():
        """Name the clients as well, though they are not loaded yet."""
        return sorted({*globals(), *__all__})


__version__ = "0.1.0"

__all__ = ["AsyncClient", "Client", "__version__"]
