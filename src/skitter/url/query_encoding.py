"""Non-ASCII text in the query of a link, in the encoding of the page that holds it.

Browsers percent-encode the query of a link in the page's own encoding and everything else in
UTF-8 (WHATWG URL §4.4, query state); a site in GBK or Big5 does not understand other bytes.
"""

import re

_NON_ASCII = re.compile(r"[^\x00-\x7f]+")

# WHATWG URL §1.3, special-query percent-encode set. A legacy encoding may use any other byte as
# the second half of a character, and such a byte goes into the URL as it is.
_AS_IS = frozenset(range(0x21, 0x7F)) - frozenset(b"\"#<>'")


# WHATWG Encoding names and Python's codecs for them. UTF-16 pages send UTF-8 (§4.3).
_CODECS = {
    "gbk": "gbk",
    "gb18030": "gb18030",
    "big5": "big5",
    "shift_jis": "cp932",
    "euc-jp": "euc_jp",
    "iso-2022-jp": "iso2022_jp",
    "euc-kr": "cp949",
    "koi8-r": "koi8_r",
    "koi8-u": "koi8_u",
    "ibm866": "cp866",
    "macintosh": "mac_roman",
    "x-mac-cyrillic": "mac_cyrillic",
    "windows-874": "cp874",
    **{f"windows-{page}": f"cp{page}" for page in range(1250, 1259)},
    **{f"iso-8859-{part}": f"iso8859_{part}" for part in (*range(2, 9), 10, 13, 14, 15, 16)},
}


def query_codec(encoding: str | None) -> str | None:
    """Return the codec for the queries of a page in ``encoding``; None means UTF-8.

    ``encoding`` is a name of the WHATWG Encoding standard in any case; unknown ones mean UTF-8.
    """
    return None if encoding is None else _CODECS.get(encoding.lower())


def encode_query(href: str, codec: str) -> str:
    """Percent-encode the non-ASCII characters in the query of ``href`` in ``codec``."""
    head, hash_mark, fragment = href.partition("#")
    path, mark, query = head.partition("?")
    if query.isascii():
        return href
    query = _NON_ASCII.sub(lambda run: _percent(run[0], codec), query)
    return f"{path}{mark}{query}{hash_mark}{fragment}"


def _percent(run: str, codec: str) -> str:
    try:
        encoded = run.encode(codec)
    except UnicodeEncodeError:
        if len(run) == 1:
            # An HTML character reference, percent-encoded (WHATWG URL §1.3).
            return f"%26%23{ord(run)}%3B"
        return "".join(_percent(char, codec) for char in run)
    return "".join(chr(byte) if byte in _AS_IS else f"%{byte:02X}" for byte in encoded)
