import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.parse.encoding import decode, read_text, sniff_encoding
from skitter.parse.media import read_content_type

SIMPLIFIED = "本站每日发布各地新闻与通知，欢迎读者来信批评指正。春天到了，河边的柳树都绿了。"
TRADITIONAL = "本站每日發佈各地新聞與通知，歡迎讀者來信批評指正。春天到了，河邊的柳樹都綠了。"
JAPANESE = "当サイトでは毎日のニュースをお届けします。春になり、川辺の柳が緑になりました。"
KOREAN = "이 사이트는 매일 새로운 소식을 전해 드립니다. 봄이 와서 강가의 버드나무가 푸릅니다."
RUSSIAN = "Каждый день мы публикуем новости. Пришла весна, и ивы у реки зазеленели."
FRENCH = "Chaque été, la rivière déborde près du château ; les élèves s'y promènent après l'école."

TEXTS = {
    "gbk": SIMPLIFIED,
    "gb18030": SIMPLIFIED + "㐂𠮷𡃁",
    "big5": TRADITIONAL,
    "shift_jis": JAPANESE,
    "euc-jp": JAPANESE,
    "euc-kr": KOREAN,
    "windows-1251": RUSSIAN,
    "windows-1252": FRENCH,
    "utf-8": SIMPLIFIED,
}


def page(text: str, encoding: str, meta: str = "", times: int = 3) -> bytes:
    paragraphs = f"<p class=story>{text}</p>\n" * times
    return f"<html><head>{meta}<title>{text[:6]}</title></head>{paragraphs}</html>".encode(encoding)


@pytest.mark.parametrize("encoding", TEXTS)
def test_the_header_is_believed(encoding: str) -> None:
    body = page(TEXTS[encoding], encoding)
    assert sniff_encoding(body, f"text/html; charset={encoding.upper()}") == encoding


@pytest.mark.parametrize("encoding", TEXTS)
def test_a_meta_is_believed_where_the_header_is_silent(encoding: str) -> None:
    body = page(TEXTS[encoding], encoding, f'<meta charset="{encoding}">')
    assert sniff_encoding(body, "text/html") == encoding


@pytest.mark.parametrize("encoding", [name for name in TEXTS if name != "gb18030"])
@pytest.mark.parametrize("times", [1, 40])
def test_text_that_declares_nothing_is_recognised(encoding: str, times: int) -> None:
    assert sniff_encoding(page(TEXTS[encoding], encoding, times=times), None) == encoding


@pytest.mark.parametrize("encoding", [name for name in TEXTS if name != "gb18030"])
@pytest.mark.parametrize("meta", ["", "<meta charset=utf-8>", "<meta charset=iso-8859-1>"])
@pytest.mark.parametrize("claim", ["utf-8", "iso-8859-1", "no-such-charset"])
def test_a_lying_header_and_a_lying_meta_are_seen_through(
    encoding: str, meta: str, claim: str
) -> None:
    body = page(TEXTS[encoding], encoding, meta)
    assert sniff_encoding(body, f"text/html; charset={claim}") == encoding


@pytest.mark.parametrize("encoding", ["gbk", "big5", "shift_jis", "euc-jp", "euc-kr"])
def test_a_body_cut_inside_a_character_is_still_recognised(encoding: str) -> None:
    body = TEXTS[encoding].encode(encoding) * 30
    assert sniff_encoding(b"<p>" + body[: len(body) - 3], None) == encoding
    assert sniff_encoding(b"<p>" + body[: len(body) - 4], None) == encoding


@pytest.mark.parametrize("encoding", ["gbk", "big5", "euc-kr"])
def test_one_broken_character_does_not_change_the_verdict(encoding: str) -> None:
    body = page(TEXTS[encoding], encoding, times=20).replace(b"</p>", b"\xc4</p>", 1)
    assert sniff_encoding(body, None) == encoding
    assert sniff_encoding(body, f"text/html; charset={encoding}") == encoding


@pytest.mark.parametrize(
    "content_type", [None, "text/html; charset=utf-8", "text/html; charset=l1"]
)
def test_utf8_with_one_broken_character_stays_utf8(content_type: str | None) -> None:
    body = page(FRENCH, "utf-8", times=10).replace(b"</p>", b"\xe9</p>", 1)
    assert sniff_encoding(body, content_type) == "utf-8"


@pytest.mark.parametrize("encoding", ["gbk", "shift_jis", "windows-1251", "windows-1252"])
def test_text_far_behind_the_markup_is_recognised(encoding: str) -> None:
    body = b"<script>" + b"x = 1;\n" * 60_000 + b"</script>" + page(TEXTS[encoding], encoding)
    assert sniff_encoding(body, "text/html; charset=utf-8") == encoding


def test_escape_driven_japanese_is_recognised_far_behind_the_markup() -> None:
    body = b"<script>" + b"x = 1;\n" * 60_000 + b"</script>" + page(JAPANESE, "iso-2022-jp")
    assert sniff_encoding(body, None) == "iso-2022-jp"


def test_where_header_and_meta_contradict_each_other_the_text_decides() -> None:
    russian = page(RUSSIAN, "windows-1251", "<meta charset=windows-1251>")
    assert sniff_encoding(russian, "text/html; charset=iso-8859-2") == "windows-1251"
    korean = page(KOREAN, "euc-kr", "<meta charset=gbk>")
    assert sniff_encoding(korean, "text/html; charset=euc-kr") == "euc-kr"


def test_the_header_wins_where_the_text_decides_nothing() -> None:
    body = b'<meta charset="iso-8859-5"><p>plain'
    assert sniff_encoding(body, "text/html; charset=iso-8859-7") == "iso-8859-7"


def test_gb2312_means_gbk_and_latin1_means_windows_1252() -> None:
    assert sniff_encoding(page("镕", "gbk"), "text/html; charset=gb2312") == "gbk"
    assert sniff_encoding(b"caf\xe9 \x93ol\xe9\x94", "text/html; charset=latin1") == "windows-1252"


def test_four_byte_gb18030_is_read_under_a_gbk_label() -> None:
    body = page("㐂𠮷" + SIMPLIFIED, "gb18030", "<meta charset=gb2312>")
    encoding, text = read_text(body, read_content_type("text/html"))
    assert encoding == "gbk"
    assert "㐂𠮷" in text


@pytest.mark.parametrize(
    ("mark", "codec", "name"),
    [
        (codecs.BOM_UTF8, "utf-8", "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le", "utf-16le"),
        (codecs.BOM_UTF16_BE, "utf-16-be", "utf-16be"),
    ],
)
def test_a_byte_order_mark_beats_every_claim(mark: bytes, codec: str, name: str) -> None:
    body = mark + "<meta charset=gbk><p>汉字".encode(codec)
    encoding, text = read_text(body, read_content_type("text/html; charset=big5"))
    assert (encoding, text) == (name, "<meta charset=gbk><p>汉字")


@pytest.mark.parametrize(("codec", "name"), [("utf-16-le", "utf-16le"), ("utf-16-be", "utf-16be")])
def test_utf16_without_a_mark_is_recognised(codec: str, name: str) -> None:
    assert sniff_encoding(page(SIMPLIFIED, codec), "text/html") == name
    assert sniff_encoding(page("ASCII only", codec), "text/html") == name


def test_utf16_claimed_for_ascii_bytes_is_not_believed() -> None:
    assert sniff_encoding(b"<p>plain", "text/html; charset=utf-16") == "windows-1252"
    assert sniff_encoding(b"<meta charset=utf-16><p>plain", None) == "utf-8"


def test_escape_driven_japanese_is_recognised_with_and_without_a_claim() -> None:
    body = page(JAPANESE, "iso-2022-jp")
    assert sniff_encoding(body, None) == "iso-2022-jp"
    assert sniff_encoding(body, "text/html; charset=iso-2022-jp") == "iso-2022-jp"
    assert decode(body, "iso-2022-jp") == body.decode("iso-2022-jp")


@pytest.mark.parametrize(
    ("content_type", "encoding"),
    [
        (None, "windows-1252"),
        ("text/html", "windows-1252"),
        ("text/plain", "windows-1252"),
        ("application/json", "utf-8"),
        ("text/xml", "utf-8"),
        ("text/html; charset=us-ascii", "windows-1252"),
        ("text/html; charset=big5", "big5"),
        ("text/html; charset=hz-gb-2312", "windows-1252"),
    ],
)
def test_ascii_text_takes_the_claim_or_the_default_of_its_type(
    content_type: str | None, encoding: str
) -> None:
    assert sniff_encoding(b"plain", content_type) == encoding


def test_a_few_bytes_that_could_be_utf8_do_not_overrule_a_chinese_header() -> None:
    body = "<p>一".encode("gbk")
    assert body.decode("utf-8")
    assert sniff_encoding(body, "text/html; charset=gbk") == "gbk"


def test_an_xml_declaration_counts() -> None:
    body = f'<?xml version="1.0" encoding="Big5"?><a>{TRADITIONAL}</a>'.encode("big5")
    assert sniff_encoding(body, "text/xml") == "big5"


@pytest.mark.parametrize("encoding", TEXTS)
def test_decoding_gives_back_the_text(encoding: str) -> None:
    assert decode(TEXTS[encoding].encode(encoding), encoding) == TEXTS[encoding]


@pytest.mark.parametrize("name", ["", "klingon", "utf-8\0", "\ud800", "replacement", "hex"])
def test_decoding_with_a_name_that_is_no_encoding_still_gives_text(name: str) -> None:
    assert decode(b"abc\xff", name)


@given(st.binary(), st.none() | st.text(max_size=40))
def test_any_bytes_have_an_encoding_that_decodes_them(body: bytes, header: str | None) -> None:
    encoding = sniff_encoding(body, header)
    assert encoding == encoding.lower()
    read = read_text(body, read_content_type(header))
    assert read == (encoding, decode(body, encoding))


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0\x1b"), min_size=1))
def test_utf8_text_survives_sniffing(text: str) -> None:
    body = text.encode()
    encoding, read = read_text(body, read_content_type("text/html; charset=utf-8"))
    assert (encoding, read) == ("utf-8", text.removeprefix("\ufeff"))


@given(
    st.sampled_from(sorted(set(TEXTS) - {"utf-8"})),
    st.integers(min_value=8, max_value=60),
    st.integers(min_value=0, max_value=30),
)
def test_any_stretch_of_declared_text_keeps_its_encoding(name: str, size: int, start: int) -> None:
    body = ("<p>" + (TEXTS[name] * 3)[start : start + size]).encode(name)
    header = read_content_type(f"text/html; charset={name}")
    assert read_text(body, header)[1] == body.decode(name)
