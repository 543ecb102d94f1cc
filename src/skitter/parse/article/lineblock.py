"""The line-block distribution: where a page's lines are longest, whatever its markup.

Each line counts with the characters that are no links; a block is a few lines on end. Over the
lines of a page the lengths of these blocks are a curve, and the text is the stretch around its
highest point that stays above the level of menus. One pass over the lines, no tree.
"""

from collections.abc import Sequence
from itertools import accumulate

LINES = 3
"""How many lines make a block."""
FLOOR = 60
"""A block no longer than this is no text: three entries of a menu are about as long."""
_SHARE = 0.05
_FLAT = 600
"""Higher peaks than this do not lift the level any more: one long paragraph is no measure."""


def densest(lengths: Sequence[int], lines: int = LINES) -> tuple[int, int]:
    """Return first and last line of the text, the last one not included; equal for none."""
    sums = list(accumulate(lengths, initial=0))
    count = len(lengths)
    blocks = [sums[min(count, n + lines)] - sums[n] for n in range(count)]
    level = max(FLOOR, _SHARE * min(_FLAT, max(blocks, default=0)))
    best, best_size, start = (0, 0), 0, -1
    for number, block in enumerate([*blocks, 0]):
        if block > level:
            start = number if start < 0 else start
        elif start >= 0:
            end = min(count, number + lines - 1)
            if sums[end] - sums[start] > best_size:
                best, best_size = (start, end), sums[end] - sums[start]
            start = -1
    return _trimmed(lengths, *best, level / lines)


def _trimmed(lengths: Sequence[int], first: int, last: int, least: float) -> tuple[int, int]:
    """Drop the short lines that are there only because a block reaches beyond the text."""
    while first < last and lengths[first] < least:
        first += 1
    while last > first and lengths[last - 1] < least:
        last -= 1
    return first, last
