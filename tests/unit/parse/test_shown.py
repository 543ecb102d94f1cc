"""The files that a page shows."""

import pytest

from skitter.parse.document import parse_document
from skitter.parse.shown import shown_files
from skitter.parse.srcset import largest

PAGE = """
<img src=a.png><img src=dot.gif width=1 height=1><img src=dot.gif width=" 1px" height=0>
<img src=thin.png width=1 height=200><img><img src="">
<picture><source srcset="p-small.webp 200w, p-large.webp 900w, p-mid.webp 400w">
<img src=p.jpg srcset="p.jpg 1x, p2.jpg 2x"></picture>
<video src=v.mp4 poster=v.png><source src=w.mp4><source src=w.webm></video>
<audio><source src=s.ogg></audio><audio src=t.mp3></audio>
<source src=alone.mp4>
"""


def test_files_come_in_the_order_of_the_document() -> None:
    found = [(one.kind, one.href) for one in shown_files(parse_document(PAGE))]
    assert found == [
        ("image", "a.png"),
        ("image", "thin.png"),
        ("image", "p-large.webp"),
        ("image", "p.jpg"),
        ("image", "p2.jpg"),
        ("video", "v.mp4"),
        ("video", "w.mp4"),
        ("video", "w.webm"),
        ("audio", "s.ogg"),
        ("audio", "t.mp3"),
    ]


@pytest.mark.parametrize(
    ("srcset", "url"),
    [
        ("", None),
        (" , ,", None),
        ("a.png", "a.png"),
        ("a.png, b.png", "a.png"),
        ("a.png,b.png 2x", "a.png,b.png"),
        ("a.png 1x, b.png 1.5x,c.png 3x", "c.png"),
        ("a,b.png 100w,\n c.png 99w", "a,b.png"),
        ("a.png 100w 50h, b.png 200w 50h", "b.png"),
        ("a.png 2.x, b.png", "a.png"),
        ("data:image/png;base64,AAA= 1x, b.png 2x", "b.png"),
    ],
)
def test_the_largest_of_several_sizes(srcset: str, url: str | None) -> None:
    assert largest(srcset) == url
