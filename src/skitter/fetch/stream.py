"""A body handed on while it arrives: decompressed, judged and capped piece by piece."""

import asyncio
from collections import deque
from collections.abc import Iterator

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
    """Hands one body to a request's ``stream``, which may say that it is full for a while.

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
        "_waiting",
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
        self._waiting: deque[Iterator[bytes]] = deque()
        """What has come and is not handed on, still compressed for the most part."""
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
            decoder = self._decoder
            self._waiting.append(iter((data,)) if decoder is None else decoder.feed(data))
            self._pass_on()

    def finish(self) -> None:
        """Take note that nothing more comes; what is left is handed on here or by ``drain``."""
        if not self.over:
            self._waiting.append(self._ending())
            self._pass_on()

    async def drain(self) -> None:
        """Hand on what is left after the last bytes, as fast as the consumer takes it."""
        while self._waiting:
            if self.full is not None:
                # Not awaited itself: a cancelled fetch would cancel what is the consumer's.
                await asyncio.wait([self.full])
            self._pass_on()

    def _ending(self) -> Iterator[bytes]:
        if self._decoder is not None:
            yield from self._decoder.finish()
        self._settle_type(sniff(self._held))

    def _pass_on(self) -> None:
        """Hand on what waits until the consumer is full."""
        try:
            while self._waiting and (self.full is None or self.full.done()):
                piece = next(self._waiting[0], None)
                if piece is None:
                    self._waiting.popleft()
                else:
                    self._take(piece)
        # Whatever it is: it ends the fetch, and nothing more is handed on.
        except BaseException:
            self._waiting.clear()
            raise

    def _take(self, piece: bytes) -> None:
        room = self._cap - self._given
        if len(piece) > room:
            if not self._cut:
                raise BodyTooLarge(self._url, f"more than {self._cap} bytes decompressed")
            self.over = True
            self._waiting.clear()
            piece = piece[:room]
        self._given += len(piece)
        if self._doubt is None:
            self._give(piece)
        else:
            self._held += piece
            kind = sniff(self._held) if self.over else sniff_start(self._held)
            self._settle_type(kind)

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
