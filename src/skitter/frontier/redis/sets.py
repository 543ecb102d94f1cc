"""How large the sets of known URLs are made; what they do is in ``lua/20_sets.lua``.

Every tag has sets of its own, for its share of the URLs that are expected. Shares are not even,
since all URLs of a host are in one tag: the sets go on growing where a tag gets more.
"""

import msgspec

from skitter.errors import ConfigError
from skitter.frontier.embedded.seen.sizing import shape_for
from skitter.frontier.model import SeenOptions
from skitter.url.partition import TAGS

GROUP_SIZE = 192
"""URLs in a group of a compact set when as many are known as expected. One that is new is taken
for known when two URLs of a group share 32 bits: here less than once in ten million."""
MOST_GROUPS = 1 << 20
MOST_COUNTERS = 1 << 28
"""Counters of one Bloom filter of a tag: 64 MB of memory that Redis takes at once."""


def seen_fields(options: SeenOptions) -> dict[str, str]:
    """Return the fields of a job that say how each tag remembers its known URLs."""
    share = -(-options.expected // TAGS)
    match options.kind:
        case "exact":
            return {"seen": "exact"}
        case "compact":
            groups = min(-(-share // GROUP_SIZE), MOST_GROUPS)
            return {"seen": "compact", "seen_buckets": str(groups)}
        case "bloom":
            # A tag that gets a little more than its share must not need a second filter for it.
            share = -(-share * 5 // 4)
            shape = shape_for(msgspec.structs.replace(options, expected=share))
            if shape.counters > MOST_COUNTERS:
                raise ConfigError(
                    f"seen: a Bloom filter for {options.expected:,} URLs at the rate"
                    f" {options.rate:g} in {options.groups} group(s) takes"
                    f" {shape.group_bytes / 1e6:,.0f} MB a group in each of {TAGS} tags, the most"
                    f" is {MOST_COUNTERS / 4e6:,.0f} MB; wanted fewer URLs or seen = compact"
                )
            return {
                "seen": "bloom",
                "seen_groups": str(shape.groups),
                "seen_hashes": str(shape.hashes),
                "seen_bits": str(shape.counters),
                "seen_room": str(share),
            }
