"""Which blocks of a region are the article's text, and the text they make."""

from collections import Counter
from collections.abc import Iterable

from skitter.parse.article.blocks import Block, Survey
from skitter.parse.article.phrases import ends_article, is_dated, is_junk, leads_away
from skitter.parse.article.region import Region

_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_PLAIN = frozenset(("div", "section", "p", "article", "figure", "form", "center", "header"))
_CELLS = frozenset(("td", "th"))
_PARAGRAPH = 120
_LINE = 80
_OFTEN = 3
_MAIN_SHARE = 0.6
_LINK_SHARE = 0.8
_LIST_LINK_SHARE = 0.5
_HEADED_LINK_SHARE = 0.3
_SENTENCE_ENDS = tuple('.!?。！？…:："”」』)）;；')


def article_blocks(found: Survey, region: Region, title: str) -> list[Block]:
    """Return the blocks of ``region`` that a reader would keep."""
    blocks = [
        block
        for first, last in region.ranges
        for block in found.blocks[first:last]
        if not region.blocked[block.container]
    ]
    main = _main_container(blocks)
    blocks = _once(_without_tail(blocks, main))
    lists = _link_lists(blocks)
    kept = [
        block
        for block in blocks
        if block.listing not in lists
        and (block.listing >= 0 or block.link_share <= _LINK_SHARE)
        and not (block.kind != "li" and is_junk(block.text))
        and not _is_stray(block, main)
    ]
    return _trimmed(kept, title)


def text_of(blocks: Iterable[Block]) -> str:
    """Return the text of ``blocks``: a blank line between paragraphs, one line for a table row."""
    parts: list[str] = []
    before: Block | None = None
    for block in blocks:
        if before is not None:
            parts.append(_gap(before, block))
        parts.append(block.text)
        before = block
    return "".join(parts)


def _gap(one: Block, other: Block) -> str:
    """Return what separates two blocks; cells with paragraphs are those of a layout."""
    if one.kind in _CELLS and other.kind in _CELLS and max(one.size, other.size) < _PARAGRAPH:
        return " | " if one.row == other.row else "\n"
    return "\n" if one.listing == other.listing >= 0 else "\n\n"


def _main_container(blocks: list[Block]) -> int:
    """Return the container that holds most of the prose itself, -1 when it is spread."""
    shares: Counter[int] = Counter()
    for block in blocks:
        shares[block.container] += int(block.prose)
    if not shares:
        return -1
    number, weight = shares.most_common(1)[0]
    return number if weight >= _MAIN_SHARE * shares.total() else -1


def _without_tail(blocks: list[Block], main: int) -> list[Block]:
    """Cut at the heading of comments or other articles, unless the text goes on after it."""
    paragraphs = (n for n, b in enumerate(blocks) if b.container == main and b.size >= _PARAGRAPH)
    last = max(paragraphs, default=-1)
    past = 0.0
    for number, block in enumerate(blocks):
        is_after = number > last and past > 2 * _PARAGRAPH
        if is_after and block.listing < 0 and ends_article(block.text):
            return blocks[:number]
        past += block.prose
    return blocks


def _once(blocks: list[Block]) -> list[Block]:
    """Drop the short lines that stand there again and again, and repetitions of longer ones."""
    counts = Counter(block.text for block in blocks if block.kind in _PLAIN)
    often = {text for text, count in counts.items() if count >= _OFTEN}
    if not often:
        return blocks
    kept: list[Block] = []
    for block in blocks:
        if block.text not in often:
            kept.append(block)
        elif block.size >= _PARAGRAPH and counts[block.text]:
            kept.append(block)
            counts[block.text] = 0
    return kept


def _is_stray(block: Block, main: int) -> bool:
    """Tell whether a short line lies apart from where the paragraphs are and is no sentence."""
    return (
        main >= 0
        and block.container != main
        and block.kind in _PLAIN
        and block.size < _LINE
        and not block.text.endswith(_SENTENCE_ENDS)
    )


def _link_lists(blocks: list[Block]) -> set[int]:
    """Return the lists that lead elsewhere."""
    sizes: dict[int, list[int]] = {}
    away: dict[int, bool] = {}
    before = ""
    for block in blocks:
        if block.listing < 0:
            before = block.text
            continue
        away.setdefault(block.listing, leads_away(before))
        size = sizes.setdefault(block.listing, [0, 0])
        size[0] += block.size
        size[1] += block.linked
    return {
        number
        for number, (size, linked) in sizes.items()
        if linked > (_HEADED_LINK_SHARE if away[number] else _LIST_LINK_SHARE) * size
    }


def _trimmed(blocks: list[Block], title: str) -> list[Block]:
    """Drop the title and the line of date and author before the text, and headings at its end."""
    while blocks and blocks[-1].kind in _HEADINGS:
        blocks.pop()
    start = next((n for n, block in enumerate(blocks) if block.size >= _PARAGRAPH), len(blocks))
    kept = [block for block in blocks[:start] if not _is_about(block, title)]
    return kept + blocks[start:]


def _is_about(block: Block, title: str) -> bool:
    return block.kind == "h1" or block.text == title or is_dated(block.text)
