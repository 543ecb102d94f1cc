"""A body handed on while it arrives: decompressed, judged and capped piece by piece."""

import asyncio
from collections.abc import Iterable

from skitter.errors import BodyTooLarge
from skitter.fetch.base import FetchLimits, Request
from skitter.fetch.decoders import StreamDecoder
from skitter.fetch.refusal import TypeDoubt
from skitter.fetch.types import sniff, sniff_start


class ConsumerFault(Exception):
    """What took the pieces has raised; ``raised`` is that and belongs to the caller."""

    def __init__(self, raised: BaseException) -> None:
        super().__init__()
        self.raised = raised


class BodyStream:
    """Hands one body to a request's ``stream``.

    Where there is a doubt about the type, the first bytes are held until they settle it.
    """

    __slots__ = (
        "_cap",
        "_coding",
        "_consumer",
        "_cut",
        "_decoder",
        "_doubt",
        "_given",
        "_held",
        "_url",
        "full",
        "over",
        "sniffed",
    )

    def __init__(
        self,
        request: Request,
        limits: FetchLimits,
        coding: str | None,
        doubt: TypeDoubt | None,
    ) -> None:
        assert request.stream is not None
        self._consumer = request.stream
        self._url = request.url
        self._cut = bool(request.cut_bytes)
        self._cap = request.cut_bytes or limits.body_bytes
        self._coding = coding
        self._decoder: StreamDecoder | None = None
        self._given = 0
        self._held = b""
        self._doubt = doubt
        self.full: asyncio.Future[None] | None = None
        """Done when the consumer has room for more."""
        self.over = False
        """The body was cut where the request said; nothing more is handed on."""
        self.sniffed = ""
        """The type by the first bytes, where it was asked for."""

    @property
    def cut(self) -> str:
        """Why the body is short, in the words of ``Response.cut``; known once finished."""
        if self.over:
            return "length"
        return "disconnect" if self._decoder is not None and self._decoder.truncated else ""

    def feed(self, data: bytes) -> None:
        """Hand on what the next bytes of the wire hold."""
        if data and not self.over:
            if self._coding and self._decoder is None:
                self._decoder = StreamDecoder(self._coding, url=self._url)
            self._pass_on((data,) if self._decoder is None else self._decoder.feed(data))

    def finish(self) -> None:
        """Hand on what is left after the last bytes."""
        if self._decoder is not None and not self.over:
            self._pass_on(self._decoder.finish())
        self._settle_type(sniff(self._held))

    def _pass_on(self, pieces: Iterable[bytes]) -> None:
        for piece in pieces:
            room = self._cap - self._given
            if len(piece) > room:
                if not self._cut:
                    raise BodyTooLarge(self._url, f"more than {self._cap} bytes decompressed")
                self.over = True
                piece = piece[:room]
            self._given += len(piece)
            if self._doubt is None:
                self._give(piece)
            else:
                self._held += piece
                self._settle_type(sniff_start(self._held))
            if self.over:
                self._settle_type(sniff(self._held))
                return

    def _settle_type(self, kind: str | None) -> None:
        """Judge the bytes held and hand them on, once their ``kind`` is certain."""
        doubt, held = self._doubt, self._held
        if doubt is None or not held or kind is None:
            return
        self._doubt, self._held, self.sniffed = None, b"", kind
        doubt.settle(held)
        self._give(held)

    def _give(self, piece: bytes) -> None:
        if not piece:
            return
        try:
            self.full = self._consumer(piece)
        # Whatever it is belongs to the caller; an event loop would swallow or die of it.
        except BaseException as exc:
            raise ConsumerFault(exc) from exc
