"""Which encoding a body is in, and its text.

The order is the HTML Standard's (§13.2.3.2): byte order mark, Content-Type header, meta, content.
One thing is added: a claim is believed only while the bytes bear it out. Servers say ISO-8859-1
because nobody told them otherwise and templates say UTF-8 around GBK text; whole-body UTF-8, on
the other hand, does not come about by accident. Detection is asked only where the claims fail or
contradict each other, because it costs as much as parsing the page many times over.
"""

from collections import Counter

from turbohtml.detect import detect

from skitter.parse.evidence import (
    MULTI_BYTE,
    bears_out,
    has_foreign_runs,
    is_mostly_utf8,
    non_ascii_segments,
    unmarked_utf16,
)
from skitter.parse.media import MediaType, read_content_type
from skitter.parse.prescan import declared_encoding

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))
_BOM_STARTS = frozenset(mark[:2] for mark, _ in _BOMS)
_DEFAULT = "windows-1252"
_CODECS = {"utf-8": "utf-8", "utf-16le": "utf-16-le", "utf-16be": "utf-16-be"}
# As the standard has it, GBK is read like GB18030. No other encoding has U+FFFD.
_SAID = dict.fromkeys(("gb18030", "gbk"), "\ufffd".encode("gb18030"))

# A short GBK or Big5 text can be well-formed UTF-8 by chance (about one character in six is);
# this many continuation bytes cannot.
_CERTAIN_CONTINUATIONS = 6

_SAMPLE_BYTES = 8 * 1024
_VOTERS = 8


def sniff_encoding(body: bytes, content_type: str | None) -> str:
    """Return the WHATWG name, in lower case, of the encoding ``body`` is in.

    ``content_type`` is the raw header. ASCII text that declares nothing is "windows-1252", the
    standard's default.
    """
    return _judge(body, read_content_type(content_type))[0]


def read_text(body: bytes, media: MediaType) -> tuple[str, str]:
    """Return the encoding of ``body`` and its text, decoding it once."""
    encoding, text = _judge(body, media)
    return encoding, decode(body, encoding) if text is None else text


def decode(body: bytes, encoding: str) -> str:
    """Return the text of ``body`` without its byte order mark; never raises.

    Malformed bytes become U+FFFD, as in a browser. A name that is no encoding reads as UTF-8.
    """
    codec = _CODECS.get(encoding) or f"whatwg-{encoding}"
    try:
        text = body.decode(codec, "replace")
    except (LookupError, ValueError):
        text = body.decode("utf-8", "replace")
    return text.removeprefix("\ufeff")


def unread_places(body: bytes, text: str, encoding: str) -> int:
    """Return at how many places of a body there were no characters of its encoding to read.

    A page may itself say U+FFFD, which is no fault of its bytes.
    """
    if text.isascii() or "\ufffd" not in text:
        return 0
    if codec := _CODECS.get(encoding):
        # The same bytes may be halves of two characters of UTF-16: they are read to tell.
        said = body.decode(codec, "ignore").count("\ufffd")
    else:
        said = body.count(_SAID[encoding]) if encoding in _SAID else 0
    return max(0, text.count("\ufffd") - said)


def _judge(body: bytes, media: MediaType) -> tuple[str, str | None]:
    """Return the encoding, and the text where finding the one has brought the other."""
    if body[:2] in _BOM_STARTS:
        for mark, name in _BOMS:
            if body.startswith(mark):
                return name, None
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return _of_other_bytes(body, media), None
    if media.charset == "utf-8":
        return "utf-8", text
    return _of_valid_utf8(body, text, media)


def _of_valid_utf8(body: bytes, text: str, media: MediaType) -> tuple[str, str | None]:
    if utf16 := unmarked_utf16(body):
        return utf16, None
    continuations = len(body) - len(text)
    if continuations >= _CERTAIN_CONTINUATIONS:
        return "utf-8", text
    claim = _first_claim(body, media)
    if claim == "iso-2022-jp" or _is_escaped_japanese(body):
        return "iso-2022-jp", None
    if continuations == 0:
        return claim or ("utf-8" if media.is_utf8_by_default else _DEFAULT), text
    if claim in (None, "utf-8", _DEFAULT):
        return "utf-8", text
    return claim, None


def _is_escaped_japanese(body: bytes) -> bool:
    escape = body.find(b"\x1b$")
    return escape >= 0 and _guess(body[escape : escape + _SAMPLE_BYTES]) == "iso-2022-jp"


def _first_claim(body: bytes, media: MediaType) -> str | None:
    """Return what header or meta says; UTF-16 is no longer possible for these bytes."""
    if media.charset and not media.charset.startswith("utf-16"):
        return media.charset
    return declared_encoding(body)


def _of_other_bytes(body: bytes, media: MediaType) -> str:
    if utf16 := unmarked_utf16(body):
        return utf16
    claims = dict.fromkeys(filter(None, (media.charset, declared_encoding(body))))
    credible = [claim for claim in claims if bears_out(body, claim)]
    if len(credible) == 1:
        return credible[0]
    guess = _detected(body)
    agreeing = (claim for claim in credible if _family(claim) == _family(guess))
    return next(agreeing, credible[0] if credible else guess)


def _family(encoding: str) -> str:
    return "gbk" if encoding == "gb18030" else encoding


def _detected(body: bytes) -> str:
    """Guess from the text that is not ASCII, leaving out the markup and what it claims."""
    segments = non_ascii_segments(body, _SAMPLE_BYTES)
    sample = b" ".join(segments)
    if is_mostly_utf8(sample):
        return "utf-8"
    guess = _guess(sample)
    if guess in MULTI_BYTE or not has_foreign_runs(sample):
        return guess
    return _elected(segments) or guess


def _elected(segments: list[bytes]) -> str | None:
    """Return the multi-byte encoding that most of the longest segments are in.

    One broken character rules an encoding out for the whole sample; most segments have none, and
    a cut one has its broken half at the end.
    """
    longest = sorted(segments, key=len, reverse=True)[:_VOTERS]
    votes = Counter(_vote(segment) for segment in longest)
    elected = votes.most_common(1)[0][0]
    return elected if elected in MULTI_BYTE else None


def _vote(segment: bytes) -> str:
    whole, cut = _guess(segment), _guess(segment[:-1])
    return cut if cut in MULTI_BYTE else whole


def _guess(sample: bytes) -> str:
    return (detect(sample).encoding or _DEFAULT).lower()
