"""What is used of aiohttp: its response parser, without the client that the package brings."""

from skitter.fetch.deferred import defer_package

# Before anything of it is imported, or all of it is.
defer_package("aiohttp", parts=frozenset({"hdrs", "helpers", "http_exceptions", "streams"}))

from aiohttp import hdrs, http_exceptions  # noqa: E402
from aiohttp.base_protocol import BaseProtocol  # noqa: E402
from aiohttp.http_exceptions import HttpProcessingError  # noqa: E402
from aiohttp.http_parser import HttpResponseParser, RawResponseMessage  # noqa: E402
from aiohttp.streams import StreamReader  # noqa: E402

__all__ = [
    "BaseProtocol",
    "HttpProcessingError",
    "HttpResponseParser",
    "RawResponseMessage",
    "StreamReader",
    "hdrs",
    "http_exceptions",
]
