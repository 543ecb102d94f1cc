"""The false positives of the Bloom filter, measured: on its own code, with a fixed seed.

The three settings are those of a published crawler that used such a filter (a master's thesis of
the University of Electronic Science and Technology of China): a million URLs of which 50,000
are repeats, 0.4 to 1.2 million URLs in ten million bits with four hashes, and one to four groups
at three million URLs. A counter above zero is what a set bit is there.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skitter.frontier.embedded.seen.counting import KEY_BYTES, CountingBloom
from skitter.frontier.embedded.seen.sizing import Shape, shape_for
from skitter.frontier.model import SeenOptions
from skitter.url.fingerprint import Fingerprinter

BITS, HASHES = 10_000_000, 4
MILLION = 1_000_000
REPEATS = 50_000
LOADS = (400_000, 600_000, 800_000, 1_000_000, 1_200_000)
GROUPS, GROUP_URLS = 4, 3 * MILLION
OVERLOADS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
_SECRET = b"bloom experiment"
_BATCH = 5_000
_FILL = 16_384
_KEY = np.dtype([("queue", ">u4"), ("fp", ">u8")])


@dataclass(frozen=True, slots=True)
class Measured:
    """One point: how many unknown URLs were taken for known, and how many should be."""

    urls: int
    """URLs in the filter."""
    groups: int
    asked: int
    wrong: int
    formula: float
    """The rate by the formula."""

    @property
    def rate(self) -> float:
        """The measured rate."""
        return self.wrong / self.asked


@dataclass(frozen=True, slots=True)
class Repeats:
    """What a filter said of a list of URLs some of which come twice."""

    urls: int
    repeats: int
    called_repeats: int
    """How many were called repeats while the list went in."""
    expected: float
    """How many wrong ones the formula gives, summed over the filling."""
    full: Measured
    """As many other URLs asked of the filter at the end."""

    @property
    def wrong(self) -> int:
        """New URLs that were called repeats."""
        return self.called_repeats - self.repeats


def empty(shape: Shape) -> CountingBloom:
    """Return a filter in memory."""
    return CountingBloom(shape, np.zeros(shape.size, np.uint8))


def random_keys(rng: np.random.Generator, count: int) -> bytes:
    """Return the keys of URLs of one queue; keyed fingerprints are as good as random."""
    keys = np.zeros(count, _KEY)
    keys["queue"] = 1
    keys["fp"] = rng.integers(0, 1 << 64, count, np.uint64, endpoint=False)
    return keys.tobytes()


def fill(bloom: CountingBloom, keys: bytes) -> None:
    """Put keys in."""
    step = _FILL * KEY_BYTES
    for at in range(0, len(keys), step):
        bloom.apply(bloom.patch(keys[at : at + step]))


def ask(bloom: CountingBloom, urls: int, strangers: bytes) -> Measured:
    """Count how many of keys that were never put in are taken for known."""
    wrong = int(bloom.contains(strangers).sum())
    asked = len(strangers) // KEY_BYTES
    return Measured(urls, bloom.shape.groups, asked, wrong, bloom.shape.rate(urls))


def repeats(seed: int = 53) -> Repeats:
    """Send a million URLs through the filter, 50,000 of which come a second time."""
    rng = np.random.default_rng(seed)
    first = _url_keys(MILLION - REPEATS)
    again = rng.choice(len(first), REPEATS, replace=False)
    order = rng.permutation(np.concatenate((np.arange(len(first)), again)))
    bloom = empty(Shape(1, HASHES, BITS))
    called, held, expected = 0, 0, 0.0
    for at in range(0, len(order), _BATCH):
        batch = order[at : at + _BATCH]
        new = first[np.unique(batch)]
        known = bloom.contains(new.tobytes())
        met = _BATCH * 2 * REPEATS / MILLION * at / MILLION
        """How many of a batch came in an earlier one, on average."""
        expected += (len(new) - met) * bloom.shape.rate(held)
        called += len(batch) - len(new) + int(known.sum())
        fill(bloom, new[~known].tobytes())
        held += int((~known).sum())
    full = ask(bloom, held, random_keys(rng, MILLION))
    return Repeats(MILLION, REPEATS, called, expected, full)


def _url_keys(count: int) -> NDArray[np.void]:
    """Return the keys of URLs as the frontier makes them."""
    fingerprint = Fingerprinter(_SECRET)
    keys = np.zeros(count, _KEY)
    keys["queue"] = 1
    keys["fp"] = [
        fingerprint(f"https://www.example.com/news/{n % 97}/{n}.html") for n in range(count)
    ]
    return keys


def loads(seed: int = 53, urls: Sequence[int] = LOADS, asked: int = MILLION) -> list[Measured]:
    """Fill ten million bits further and further."""
    rng = np.random.default_rng(seed)
    bloom = empty(Shape(1, HASHES, BITS))
    strangers, held, points = random_keys(rng, asked), 0, []
    for count in urls:
        fill(bloom, random_keys(rng, count - held))
        held = count
        points.append(ask(bloom, held, strangers))
    return points


def groups(bits: int, seed: int = 53, asked: int = MILLION) -> list[Measured]:
    """Put three million URLs in four groups of ``bits`` each; ask the first, two, three, four."""
    rng = np.random.default_rng(seed)
    whole = empty(Shape(GROUPS, HASHES, bits))
    fill(whole, random_keys(rng, GROUP_URLS))
    strangers = random_keys(rng, asked)
    points = []
    for count in range(1, GROUPS + 1):
        shape = Shape(count, HASHES, bits)
        part = CountingBloom(shape, whole.array[: shape.size])
        points.append(ask(part, GROUP_URLS, strangers))
    return points


def overload(options: SeenOptions, seed: int = 53, asked: int = 2 * MILLION) -> list[Measured]:
    """Fill a filter as it is sized for a crawl up to and beyond what it was made for."""
    rng = np.random.default_rng(seed)
    bloom = empty(shape_for(options))
    strangers, held, points = random_keys(rng, asked), 0, []
    for share in OVERLOADS:
        count = round(options.expected * share)
        fill(bloom, random_keys(rng, count - held))
        held = count
        points.append(ask(bloom, held, strangers))
    return points
