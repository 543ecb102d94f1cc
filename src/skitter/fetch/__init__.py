"""Bringing one response: sockets, names, caps, codings and faults, and no policy."""

from skitter.fetch.deferred import defer_package

__all__: list[str] = []

defer_package("aiohttp", parts=frozenset({"hdrs", "helpers", "http_exceptions", "streams"}))
