"""How large a Bloom filter must be, and how often it is wrong. Pure.

A group of ``m`` counters and ``k`` hashes that holds ``n`` URLs takes an unknown one for known at
the rate ``(1 - e^(-kn/m))^k``; every group has to agree, so the rates of the groups multiply.
"""

import math
from dataclasses import dataclass

from skitter.errors import ConfigError
from skitter.frontier.model import SeenOptions

PER_BYTE = 4
"""Counters of two bits each."""
MOST_BYTES = 1 << 32
"""Places in the file are kept in 32 bits."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The measures of a filter."""

    groups: int
    hashes: int
    """Hashes of each group."""
    counters: int
    """Counters of each group."""

    @property
    def group_bytes(self) -> int:
        """Bytes of one group's array."""
        return -(-self.counters // PER_BYTE)

    @property
    def size(self) -> int:
        """Bytes of all arrays."""
        return self.groups * self.group_bytes

    def rate(self, urls: int) -> float:
        """Return the share of unknown URLs taken for known when ``urls`` are held."""
        filled = -math.expm1(-self.hashes * urls / self.counters)
        return float(filled ** (self.hashes * self.groups))


def shape_for(options: SeenOptions) -> Shape:
    """Return the smallest shape that keeps the rate at the expected count."""
    share = options.rate ** (1 / options.groups)
    """What one group may be wrong, so that all together keep the rate."""
    hashes = max(1, round(-math.log2(share)))
    # From share = (1 - e^(-kn/m))^k; at the best k this is n * log2(1/share) / ln 2.
    filled = -math.log1p(-(share ** (1 / hashes)))
    counters = max(64, math.ceil(hashes * options.expected / filled))
    shape = Shape(options.groups, hashes, counters)
    if shape.size >= MOST_BYTES or shape.counters >= 1 << 32:
        raise ConfigError(
            f"seen: a Bloom filter for {options.expected:,} URLs at the rate {options.rate:g} in"
            f" {options.groups} group(s) takes {shape.size / 1e9:.1f} GB, the most is"
            f" {MOST_BYTES / 1e9:.1f} GB and {1 << 32:,} counters a group;"
            " wanted fewer URLs, a higher rate or more groups"
        )
    return shape
