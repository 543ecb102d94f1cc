"""Reading WARC files record by record: gzip members, zstd frames or plain records."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, Protocol, cast

from backports.zstd import ZstdDecompressor, ZstdError
from isal import isal_zlib

from skitter.errors import ConfigError, SinkError

_PIECE: Final = 64 * 1024
_MOST_HEADER: Final = 256 * 1024


class Record(NamedTuple):
    """One record and where it is stored."""

    offset: int
    length: int
    """Bytes it takes in the file."""
    headers: Mapping[str, str]
    """By lower-case name."""
    block: bytes

    @property
    def kind(self) -> str:
        """The WARC-Type."""
        return self.headers.get("warc-type", "")


class Damaged(SinkError):
    """A record that is not whole, and where it begins."""

    def __init__(self, path: Path, offset: int, why: str) -> None:
        super().__init__(f"{path}: damaged at byte {offset} ({why})")
        self.offset = offset


class _Decoder(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


_GZIP_ERROR: Final[type[Exception]] = cast("type[Exception]", isal_zlib.error)


def _gzip_decoder() -> _Decoder:
    decoder: _Decoder = isal_zlib.decompressobj(31)
    return decoder


_DECODERS: Final[Mapping[bytes, Callable[[], _Decoder]]] = {
    b"\x1f\x8b": _gzip_decoder,
    b"\x28\xb5": ZstdDecompressor,
}


def records(path: Path, start: int = 0, end: int | None = None) -> Iterator[Record]:
    """Yield the records from byte ``start`` on, up to ``end`` or the end of the file.

    Raises ``Damaged`` naming file and offset at the first record that is not whole, and
    ``ConfigError`` when there is no such file.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            limit = size if end is None else min(end, size)
            if start > limit:
                raise Damaged(path, start, f"the file ends at {limit}")
            file.seek(start)
            yield from _records(path, _Source(file, start, limit))
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: there is no such archive file") from error
    except OSError as error:
        raise SinkError(f"{path}: cannot be read ({error.strerror})") from error


class _Source:
    """Bytes of a file up to a limit, in pieces that can be given back."""

    def __init__(self, file: BinaryIO, start: int, limit: int) -> None:
        self._file = file
        self._left = limit - start
        self._given_back = b""
        self.offset = start
        """Where the next byte that is read stands in the file."""

    def read(self) -> bytes:
        piece, self._given_back = self._given_back, b""
        if not piece:
            piece = self._file.read(min(_PIECE, self._left))
            self._left -= len(piece)
        self.offset += len(piece)
        return piece

    def give_back(self, rest: bytes) -> None:
        self.offset -= len(rest)
        self._given_back = rest

    def peek(self) -> bytes:
        piece = self.read()
        self.give_back(piece)
        return piece


def _records(path: Path, source: _Source) -> Iterator[Record]:
    while beginning := source.peek():
        offset = source.offset
        decoder = _DECODERS.get(beginning[:2])
        try:
            data = _plain(source) if decoder is None else _packed(source, decoder())
            headers, block = _parsed(data)
        except (ValueError, ZstdError, _GZIP_ERROR) as error:
            raise Damaged(path, offset, str(error)) from error
        yield Record(offset, source.offset - offset, headers, block)


def _packed(source: _Source, decoder: _Decoder) -> bytes:
    pieces = []
    while not decoder.eof:
        piece = source.read()
        if not piece:
            raise ValueError("the record is cut off")
        pieces.append(decoder.decompress(piece))
    source.give_back(decoder.unused_data)
    return b"".join(pieces)


def _plain(source: _Source) -> bytes:
    data = bytearray()
    while (end := data.find(b"\r\n\r\n")) < 0:
        _more(source, data)
        if not data.startswith(b"WARC/"[: len(data)]) or len(data) > _MOST_HEADER:
            raise ValueError("no WARC record begins here")
    wanted = end + 4 + _content_length(_headers(bytes(data[:end]))) + 4
    while len(data) < wanted:
        _more(source, data)
    source.give_back(bytes(data[wanted:]))
    return bytes(data[:wanted])


def _more(source: _Source, data: bytearray) -> None:
    piece = source.read()
    if not piece:
        raise ValueError("the record is cut off")
    data += piece


def _parsed(data: bytes) -> tuple[Mapping[str, str], bytes]:
    head, blank, rest = data.partition(b"\r\n\r\n")
    if not data.startswith(b"WARC/") or not blank:
        raise ValueError("no WARC record begins here")
    headers = _headers(head)
    length = _content_length(headers)
    if rest[length:] != b"\r\n\r\n":
        raise ValueError(f"the block is not {length} bytes long")
    return headers, rest[:length]


def _headers(head: bytes) -> dict[str, str]:
    lines = head.decode("utf-8", "replace").split("\r\n")[1:]
    pairs = (line.partition(":") for line in lines)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _content_length(headers: Mapping[str, str]) -> int:
    given = headers.get("content-length", "")
    if not given.isdecimal():
        raise ValueError("no Content-Length")
    return int(given)
