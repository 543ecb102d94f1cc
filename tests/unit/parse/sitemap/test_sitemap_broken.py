"""Bytes that are no sitemap, or not all of one: nothing good is lost, and the reason is told."""

import gzip

import pytest
from sitemap_help import end, locs, subs, urlset

WHOLE = urlset(*(f"<loc>/{number}</loc>" for number in range(1500)))


@pytest.mark.parametrize(
    "page",
    [
        "<!DOCTYPE html><html><body><a href='/a'>A</a></body></html>",
        "<!doctype HTML public '-//W3C//DTD HTML 4.01//EN'>\n<title>404</title>",
        "<?xml version='1.0'?><!DOCTYPE html><html xmlns='http://www.w3.org/1999/xhtml'/>",
        "<!-- cached --><HTML><pre>\nhttps://site.test/a\n</pre></HTML>",
        "<h1>404 Not Found!</h1>",
        "<script>location='/'</script>",
        "Not found.\nhttps://site.test/a\n<br>Try <a href='/'>home</a>.",
        "https://site.test/a\n<html>\nhttps://site.test/b",
        "<html><body><urlset><url><loc>/a</loc></url></urlset></body></html>",
    ],
)
def test_a_page_is_no_sitemap(page: str) -> None:
    assert locs(page) == []
    assert (end(page).kind, end(page).problem) == ("html", "an HTML page, not a sitemap")


@pytest.mark.parametrize("nothing", ["", " \r\n\t", "\ufeff", "\ufeff\n"])
def test_nothing_is_empty(nothing: str) -> None:
    assert (end(nothing).kind, end(nothing).problem) == ("empty", "empty")


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ("Not found", "neither XML nor a list of URLs"),
        ('{"urls": ["https://site.test/"]}', "neither XML nor a list of URLs"),
        (bytes(range(256)) * 20, "neither XML nor a list of URLs"),
        ("<Error><Code>NoSuchKey</Code></Error>", "an XML document of <error>, not a sitemap"),
        ("<?xml version='1.0'?><!-- x", "markup without any element, not a sitemap"),
        ("<<<<", "markup without any element, not a sitemap"),
    ],
)
def test_what_is_something_else_is_named(document: str | bytes, problem: str) -> None:
    assert locs(document) == []
    assert (end(document).kind, end(document).problem) == ("unknown", problem)


def test_a_document_that_breaks_off_gives_every_whole_record() -> None:
    cut = WHOLE[: WHOLE.index("/1204</loc>") + 4]
    assert len(locs(cut)) == 1204
    assert end(cut).problem == "breaks off after 1,204 URLs"


def test_a_record_without_its_end_is_not_taken_from_a_document_that_breaks_off() -> None:
    cut = "<urlset><url><loc>/a</loc></url><url><loc>/b</loc><lastmod>20"
    assert locs(cut) == ["https://site.test/a"]
    assert end(cut).problem == "breaks off after 1 URL"


def test_only_the_closing_tag_is_missing() -> None:
    cut = WHOLE.replace("</urlset>", "")
    assert len(locs(cut)) == 1500
    assert end(cut).problem == "breaks off after 1,500 URLs"


def test_gzip_is_known_by_its_first_bytes() -> None:
    assert len(locs(gzip.compress(WHOLE.encode()))) == 1500
    assert end(gzip.compress(WHOLE.encode())).problem is None


def test_gzip_members_after_each_other_are_one_document() -> None:
    raw = WHOLE.encode()
    packed = b"".join(gzip.compress(raw[at : at + 999]) for at in range(0, len(raw), 999))
    assert len(locs(packed)) == 1500
    assert len(locs(packed + b"\0" * 512)) == 1500
    assert end(packed + b"garbage").problem is None


def test_what_was_packed_twice_is_unpacked_twice_and_no_further() -> None:
    twice = gzip.compress(gzip.compress(WHOLE.encode()))
    assert len(locs(twice)) == 1500
    assert end(gzip.compress(twice)).kind == "unknown"


def test_gzip_data_that_breaks_off_gives_what_is_there() -> None:
    packed = gzip.compress(WHOLE.encode())
    found = locs(packed[: len(packed) // 2])
    assert 100 < len(found) < 1500
    assert found == locs(WHOLE)[: len(found)]
    assert end(packed[: len(packed) // 2]).problem == (
        f"gzip data breaks off after {len(found):,} URLs"
    )


def test_gzip_data_that_is_damaged_gives_what_comes_before() -> None:
    stored = bytearray(gzip.compress(WHOLE.encode(), compresslevel=0))
    stored[-8] ^= 0xFF
    assert len(locs(bytes(stored))) == 1500
    assert end(bytes(stored)).problem == "gzip data is damaged after 1,500 URLs"
    half = WHOLE.partition("<url><loc>/700<")[0].encode()
    no_such_block = gzip.compress(b"")[:10] + b"\xff"
    broken = gzip.compress(half) + no_such_block + gzip.compress(WHOLE.encode())
    assert locs(broken) == locs(WHOLE)[:700]
    assert end(broken).problem == "gzip data is damaged after 700 URLs"


@pytest.mark.parametrize("length", [2, 3, 12])
def test_gzip_data_that_hardly_begins_is_named(length: int) -> None:
    assert end(gzip.compress(b"")[:length]).problem == "gzip data breaks off after 0 URLs"


def test_a_flood_of_gzip_members_is_damage() -> None:
    assert (end(gzip.compress(b"") * 10_000).problem or "").startswith("gzip data is damaged")


def test_what_lies_beyond_the_cap_is_left_out() -> None:
    raw = WHOLE.encode()
    told = end(raw, max_bytes=len(raw) // 2)
    assert 700 < told.urls < 800
    assert told.problem == f"more than {len(raw) // 2:,} bytes; the rest is left out"
    assert end(raw, max_bytes=len(raw)).problem is None
    assert end(gzip.compress(bytes(3 << 20)), max_bytes=1 << 20).problem == (
        "more than 1 MB; the rest is left out"
    )


LAUGHS = "".join(
    f'<!ENTITY lol{number} "{f"&lol{number - 1};" * 10}">\n' for number in range(1, 40)
)


def test_entities_are_not_expanded() -> None:
    document = (
        f"<!DOCTYPE urlset [<!ENTITY lol0 'lol'>\n{LAUGHS}"
        "<!ENTITY % p SYSTEM 'https://site.test/p'>%p;<!-- it's -->"
        "<!ENTITY x SYSTEM 'file:///etc/passwd'>]>"
        + urlset("<loc>/a</loc>", "<loc>/&lol39;</loc>", "<loc>/&x;</loc>", "<loc>/?b&amp;c</loc>")
    )
    assert locs(document) == ["https://site.test/a", "https://site.test/?b&c"]
    told = end(document)
    assert told.problem == "declares entities, which are not expanded"
    assert (told.kind, told.skipped) == ("urlset", 2)


def test_a_page_of_an_index_is_a_page_and_a_sitemap_of_a_urlset_is_a_sitemap() -> None:
    mixed = "<urlset><url><loc>/a</loc></url><sitemap><loc>/b.xml</loc></sitemap></urlset>"
    assert (locs(mixed), subs(mixed)) == (["https://site.test/a"], ["https://site.test/b.xml"])
