"""Pages that are broken, compressed, or not pages at all."""

from skitter.demo.model import Answer, Delivery, Page
from skitter.demo.oddities.exhibit import Exhibit, at, link, specimen

_PASSING = {"/flaky/500": ("Broken once, then fine", Answer(first=(500,)))}
_ERRORS = {
    "/broken/500": ("Always broken", Answer(status=500)),
    "/broken/403": ("Not for you", Answer(status=403)),
    "/broken/410": ("Gone for good", Answer(status=410)),
}
_WIRE = {
    "/broken/close": ("Hangs up without a word", Delivery.CLOSE),
    "/broken/reset": ("Hangs up in mid-sentence", Delivery.RESET),
    "/broken/status-line": ("Speaks another language", Delivery.BAD_STATUS_LINE),
    "/broken/huge-headers": ("All preface, no book", Delivery.HUGE_HEADERS),
    "/broken/long-length": ("Promises more than it gives", Delivery.LONG_LENGTH),
    "/broken/short-length": ("Gives more than it promises", Delivery.SHORT_LENGTH),
    "/broken/chunks-cut": ("Chunks without an end", Delivery.CHUNKS_CUT),
    "/broken/gzip-cut": ("A torn gzip stream", Delivery.GZIP_CUT),
    "/broken/not-gzip": ("Says gzip, is not", Delivery.NOT_GZIP),
    "/broken/coding": ("An encoding nobody knows", Delivery.UNKNOWN_CODING),
    "/wire/chunked": ("In chunks", Delivery.CHUNKED),
    "/wire/until-close": ("No length at all", Delivery.UNTIL_CLOSE),
}
_PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d4944415478da63"
    "f8cf50cf00000380018134 9d2a0000000049454e44ae426082".replace(" ", "")
)


def faults() -> Exhibit:
    """Return pages that are broken for a while, or for ever."""
    answers = _PASSING | _ERRORS
    pages = [specimen(path, title, answer=answer) for path, (title, answer) in answers.items()]
    pages += [
        specimen(path, title, answer=Answer(delivery=delivery))
        for path, (title, delivery) in _WIRE.items()
    ]
    links = [link(page.at.path, page.title or "") for page in pages]
    links += [link(f"/missing/{n}", f"A page that was never here ({n})") for n in range(1, 4)]
    return Exhibit("Broken", tuple(pages), tuple(links))


def formats() -> Exhibit:
    """Return compressed pages and files that are not HTML."""
    pages = [
        specimen(f"/coding/{coding}", f"Packed with {coding}", answer=Answer(coding=coding))
        for coding in ("gzip", "deflate", "br", "zstd")
    ]
    xhtml = Answer(media_type="application/xhtml+xml")
    pages.append(specimen("/files/page.xhtml", "A page of the strict kind", answer=xhtml))
    pages += [
        _file("/files/tides.pdf", "application/pdf", b"%PDF-1.4\n% tide tables\n" + bytes(4000)),
        _file("/files/cargo.bin", "application/octet-stream", bytes(range(256)) * 20),
        _file("/files/picture", "image/png", _PNG),
    ]
    links = tuple(link(page.at.path, page.title or page.at.path) for page in pages)
    return Exhibit("Formats", tuple(pages), links)


def _file(path: str, media_type: str, body: bytes) -> Page:
    return Page(at=at(path), answer=Answer(media_type=media_type, body=body))
