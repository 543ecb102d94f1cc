"""The one edge where the library's, the system's and OpenSSL's faults become ``FetchError``."""

import errno
import os
import ssl
from typing import Final

from skitter.errors import (
    BodyTooLarge,
    ConnectError,
    FetchError,
    FetchTimeout,
    HeadersTooLarge,
    ProtocolError,
    TlsError,
)
from skitter.fetch.aiohttp_parts import http_exceptions as parser

PARSER_FAULTS: Final[dict[type[Exception], type[FetchError]]] = {
    parser.HttpProcessingError: ProtocolError,
    parser.BadHttpMessage: ProtocolError,
    parser.HttpBadRequest: ProtocolError,
    parser.PayloadEncodingError: ProtocolError,
    parser.ContentEncodingError: ProtocolError,
    parser.TransferEncodingError: ProtocolError,
    parser.ContentLengthError: ProtocolError,
    parser.DecompressSizeError: ProtocolError,
    parser.LineTooLong: HeadersTooLarge,
    parser.InvalidHeader: ProtocolError,
    parser.BadStatusLine: ProtocolError,
    parser.BadHttpMethod: ProtocolError,
    parser.InvalidURLError: ProtocolError,
}
"""Every exception of the response parser, and what it means to a crawl."""

_OUT_OF_FILES: Final = frozenset({errno.EMFILE, errno.ENFILE})
_SHOWN: Final = 160


def is_out_of_files(exc: OSError) -> bool:
    """Tell that this process, not the server, has no sockets left."""
    return exc.errno in _OUT_OF_FILES


def answer_fault(url: str, exc: Exception) -> FetchError:
    """Translate what went wrong while a response was read."""
    kind = PARSER_FAULTS.get(type(exc), ProtocolError)
    if kind is HeadersTooLarge:
        return HeadersTooLarge(url, "a header line is longer than the cap")
    return kind(url, f"broken response: {fault_text(exc)}")


def why_cut(fault: FetchError) -> str:
    """Say in the words of ``Response.cut`` why an answer ended with ``fault``."""
    if isinstance(fault, BodyTooLarge):
        return "length"
    return "time" if isinstance(fault, FetchTimeout) else "disconnect"


def connect_fault(url: str, exc: Exception) -> FetchError:
    """Translate what went wrong while a connection was made."""
    if isinstance(exc, ssl.SSLCertVerificationError):
        return TlsError(url, f"certificate refused: {exc.verify_message}")
    if isinstance(exc, ssl.SSLError):
        return TlsError(url, f"TLS handshake failed: {fault_text(exc)}")
    if isinstance(exc, ValueError):
        return TlsError(url, f"TLS handshake failed: {fault_text(exc)}")
    if isinstance(exc, OSError) and is_out_of_files(exc):
        return FetchError(url, "this process has no file descriptors left")
    return ConnectError(url, f"no connection: {fault_text(exc)}")


def fault_text(exc: Exception) -> str:
    """Say in a few words what happened; the parser's texts quote the peer over several lines."""
    if isinstance(exc, OSError) and exc.errno and not isinstance(exc, ssl.SSLError):
        return os.strerror(exc.errno).lower()
    if isinstance(exc, ConnectionResetError | ConnectionAbortedError):
        return "connection reset by peer"
    message = exc.message if isinstance(exc, parser.HttpProcessingError) else str(exc)
    line = next((line.strip() for line in message.splitlines() if line.strip()), "")
    return (line or type(exc).__name__)[:_SHOWN].rstrip(":")
