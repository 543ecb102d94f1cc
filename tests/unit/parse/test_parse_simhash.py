import subprocess
import sys

from hypothesis import given, settings
from hypothesis import strategies as st
from turbohtml import parse

from skitter.parse.simhash import MAX_HREFS, near, page_simhash, page_sketch, sketch_of

URL = "https://a.test/x"
_WORDS = st.lists(st.sampled_from(["oak", "elm", "ash", "yew", "fir"]), max_size=12).map(" ".join)


def parts(*lines: str, url: str = URL) -> dict[int, int]:
    return sketch_of(lines, url).parts


def prose(seed: int, count: int) -> list[str]:
    return [
        f"{chr(97 + n % 26)}{chr(97 + seed)}{chr(97 + n // 26)} word here" for n in range(count)
    ]


def test_numbers_and_names_of_days_and_months_say_nothing() -> None:
    june = parts("Monday, 2 June 2025", "No events in June 2025.")
    assert june == parts("Tuesday, 13 May 2031", "No events in May 2031.")
    assert len(june) == 1


def test_the_words_of_the_url_say_nothing() -> None:
    one = parts("Sorry, /a/pear is not here", url="https://a.test/a/pear")
    assert one == parts("Sorry, /b/plum/fig is not here", url="https://a.test/b/plum/fig")
    assert one != parts("Sorry, /b/plum/fig is not here", url="https://a.test/")


def test_the_order_of_lines_does_not_matter() -> None:
    assert sketch_of(["one line", "another line"], URL) == sketch_of(
        ["another line", "one line"], URL
    )


def test_digits_within_a_script_without_spaces_are_left_out_alone() -> None:
    assert parts("第17页没有活动") == parts("第3页没有活动") != parts("第3页")


def test_pages_that_differ_in_one_part_of_many_are_near() -> None:
    lines = prose(0, 50)
    one, other = sketch_of(lines, URL), sketch_of([*lines[:-1], "something else here"], URL)
    far = sketch_of(prose(1, 50), URL)
    assert (one.simhash ^ other.simhash).bit_count() <= 12
    assert not near(one.simhash, far.simhash)
    assert near(one.simhash, one.simhash)


def test_scripts_and_styles_are_not_read() -> None:
    plain = page_sketch(parse("<p>Hello dear reader</p>"), URL)
    dressed = page_sketch(
        parse("<body><style>p{x:y}</style><script>var q=1</script><p>Hello dear reader</p>"), URL
    )
    assert plain == dressed
    assert page_simhash(parse("<p>Hello dear reader</p>"), URL) == plain.simhash != 0


def test_a_page_without_words_is_a_sketch_too() -> None:
    sketch = page_sketch(parse("<p>12 34</p>"), URL)
    assert sketch.simhash == 0
    assert not sketch.parts


def test_the_links_are_kept_as_written_and_not_without_end() -> None:
    links = "".join(f'<a href="/{n}">x</a>' for n in range(MAX_HREFS + 5))
    sketch = page_sketch(parse(links), URL)
    assert sketch.hrefs[:2] == ["/0", "/1"]
    assert len(sketch.hrefs) == MAX_HREFS


def test_of_many_lines_a_share_is_read_and_the_same_of_every_page() -> None:
    menu = [f"{'entry ' * (n % 9 + 1)}{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(400)]
    story = "A story of its own that is long enough to be read whatever else is on the page, " * 2
    one = sketch_of([*menu, story], URL)
    other = sketch_of(menu, URL)
    assert set(one.parts) > set(other.parts)
    assert len(other.parts) < 250


def test_a_simhash_is_the_same_in_every_process() -> None:
    code = (
        "from skitter.parse.simhash import sketch_of;"
        f"print(sketch_of(['some words to be hashed', 'and more'], {URL!r}).simhash)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert int(out.stdout) == sketch_of(["some words to be hashed", "and more"], URL).simhash


@settings(max_examples=50)
@given(st.lists(_WORDS, max_size=20))
def test_any_text_has_a_sketch_of_64_bits(lines: list[str]) -> None:
    sketch = sketch_of(lines, URL)
    assert 0 <= sketch.simhash < 1 << 64
    assert sum(sketch.parts.values()) <= sum(len(line.split()) for line in lines)
    assert sketch == sketch_of(lines, URL)
