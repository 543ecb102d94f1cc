from skitter.politeness.robots_lines import (
    MAX_BODY_BYTES,
    MAX_LINE_BYTES,
    Field,
    Line,
    read_lines,
)


def _read(body: bytes) -> list[tuple[Field, bytes]]:
    return [(line.field, line.value) for line in read_lines(body)]


def test_every_line_ending_counts_as_one_line() -> None:
    body = b"User-agent: a\r\nAllow: /b\rDisallow: /c\n\nSitemap: d"
    assert list(read_lines(body)) == [
        Line(Field.AGENT, b"a", 1),
        Line(Field.ALLOW, b"/b", 2),
        Line(Field.DISALLOW, b"/c", 3),
        Line(Field.SITEMAP, b"d", 5),
    ]


def test_fields_are_known_in_any_case_by_how_they_begin() -> None:
    body = b"USER-AGENT: a\nDisallowed: /b\naLLoW: /c\nCrawl-Delay: 4\nsitemaps: e\n"
    assert [field for field, _ in _read(body)] == [
        Field.AGENT,
        Field.DISALLOW,
        Field.ALLOW,
        Field.DELAY,
        Field.SITEMAP,
    ]


def test_frequent_misspellings_are_understood() -> None:
    words = (b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw")
    assert {field for field, _ in _read(b"\n".join(w + b": /" for w in words))} == {Field.DISALLOW}
    agents = b"useragent: a\nuser agent: a\nsite-map: s\n"
    assert [field for field, _ in _read(agents)] == [Field.AGENT, Field.AGENT, Field.SITEMAP]


def test_other_fields_and_lines_without_a_field_are_left_out() -> None:
    assert _read(b"Host: x\nNoindex: /a\n: /b\n:::\nnothing\nUnallow: /\n") == []


def test_a_missing_colon_is_forgiven_only_between_exactly_two_words() -> None:
    assert _read(b"disallow \t /a\nuser-agent\tb") == [
        (Field.DISALLOW, b"/a"),
        (Field.AGENT, b"b"),
    ]
    assert _read(b"disallow /a /b\nuser agent c\ndisallow\n") == []


def test_comments_blanks_and_what_follows_a_null_byte_do_not_count() -> None:
    body = b"  Disallow :  /a b  # why\n#Disallow: /c\nAllow: /d\x00/e\nDisallow:#\n"
    assert _read(body) == [
        (Field.DISALLOW, b"/a b"),
        (Field.ALLOW, b"/d"),
        (Field.DISALLOW, b""),
    ]


def test_a_byte_order_mark_whole_or_torn_is_skipped() -> None:
    for mark in (b"\xef\xbb\xbf", b"\xef\xbb", b"\xef"):
        assert _read(mark + b"Allow: /") == [(Field.ALLOW, b"/")]
    assert _read(b"\xbb\xbfAllow: /") == []


def test_an_endless_line_is_cut_and_the_next_one_is_read() -> None:
    body = b"Disallow: /" + b"x" * 100_000 + b"\nAllow: /y\n"
    (_, cut), second = _read(body)
    assert len(cut) == MAX_LINE_BYTES - len(b"Disallow: ")
    assert second == (Field.ALLOW, b"/y")


def test_what_lies_beyond_the_size_cap_and_the_line_it_cuts_are_dropped() -> None:
    line = b"Disallow: /0123456789\n"
    padding = b"#" * (MAX_BODY_BYTES - len(line) - 5) + b"\n"
    cut_inside = padding + line + b"Disallow: /beyond\n"
    assert _read(cut_inside) == [(Field.DISALLOW, b"/0123456789")]
    longer = b"##" + padding + line
    assert len(longer) > MAX_BODY_BYTES - 5
    assert _read(b"#" * 10 + longer) == []


def test_a_line_that_ends_exactly_at_the_size_cap_is_kept() -> None:
    line = b"Disallow: /a"
    padding = b"#" * (MAX_BODY_BYTES - len(line) - 1) + b"\n"
    assert _read(padding + line + b"\nAllow: /b\n") == [(Field.DISALLOW, b"/a")]
    assert _read(padding + line + b"b\n") == []
