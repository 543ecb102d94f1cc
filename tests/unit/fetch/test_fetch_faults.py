import errno
import ssl

import pytest
from aiohttp import http_exceptions

from skitter.errors import ConnectError, FetchError, HeadersTooLarge, ProtocolError, TlsError
from skitter.fetch.faults import PARSER_FAULTS, answer_fault, connect_fault

URL = "http://a.test/"


def parser_exceptions(kind: type[Exception]) -> set[type[Exception]]:
    return {kind}.union(*(parser_exceptions(sub) for sub in kind.__subclasses__()))


def test_every_exception_of_the_parser_has_a_translation() -> None:
    defined = {
        kind
        for kind in parser_exceptions(http_exceptions.HttpProcessingError)
        if kind.__module__ == http_exceptions.__name__
    }
    assert set(PARSER_FAULTS) == defined


@pytest.mark.parametrize("kind", PARSER_FAULTS.values())
def test_translations_are_fetch_errors(kind: type[FetchError]) -> None:
    assert issubclass(kind, FetchError)


def test_a_parser_fault_is_told_in_one_short_line() -> None:
    exc = http_exceptions.BadHttpMessage("Invalid token:\n\n  b'Set-Cookie: secret'\n  ^")
    fault = answer_fault(URL, exc)
    assert str(fault) == f"{URL}: broken response: Invalid token"
    assert len(answer_fault(URL, http_exceptions.BadHttpMessage("x" * 5000)).why) < 200


def test_a_line_over_the_cap_is_too_large_a_header() -> None:
    fault = answer_fault(URL, http_exceptions.LineTooLong(b"X: secret", 100))
    assert type(fault) is HeadersTooLarge
    assert "secret" not in str(fault)


def test_what_the_parser_should_never_raise_is_a_protocol_error() -> None:
    assert type(answer_fault(URL, AssertionError())) is ProtocolError


@pytest.mark.parametrize(
    ("exc", "kind", "words"),
    [
        (ConnectionRefusedError(errno.ECONNREFUSED, "x"), ConnectError, "connection refused"),
        (OSError(errno.ENETUNREACH, "x"), ConnectError, "network is unreachable"),
        (OSError("Multiple exceptions: a, b"), ConnectError, "Multiple exceptions"),
        (ConnectionResetError(), ConnectError, "connection reset by peer"),
        (RuntimeError("transport closed"), ConnectError, "transport closed"),
        (ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong"), TlsError, "WRONG_VERSION"),
        (ValueError("server_hostname cannot be empty"), TlsError, "server_hostname"),
        (OSError(errno.EMFILE, "x"), FetchError, "no file descriptors"),
        (OSError(errno.ENFILE, "x"), FetchError, "no file descriptors"),
    ],
)
def test_connecting_faults_are_told_apart(
    exc: Exception, kind: type[FetchError], words: str
) -> None:
    fault = connect_fault(URL, exc)
    assert type(fault) is kind
    assert words in fault.why
