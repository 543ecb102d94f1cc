"""The topics of the library: their words, and titles and sentences made of them."""

import random
import re
from collections import Counter
from dataclasses import dataclass

from skitter.demo.model import Page, Prose
from skitter.demo.words import PLACES, paragraph


@dataclass(frozen=True, slots=True)
class Topic:
    """What a shelf is about."""

    phrase: str
    """What someone would look for: in every text of the topic, and in few others."""
    things: tuple[str, ...]


TOPICS = (
    Topic("clock making", ("pendulums", "mainsprings", "dials", "escapements", "cog wheels",
                           "striking trains", "tower bells", "watch cases")),
    Topic("solar energy", ("panels", "inverters", "photovoltaic cells", "collectors", "mirrors",
                           "roof mounts", "heat stores", "charge meters")),
    Topic("bread baking", ("sourdoughs", "stone ovens", "rye loaves", "proving baskets",
                           "millstones", "crusts", "yeasts", "flat loaves")),
    Topic("wind power", ("turbines", "rotor blades", "masts", "gear boxes", "anemometers",
                         "offshore cables", "brakes", "test towers")),
    Topic("bee keeping", ("hives", "queens", "swarms", "honey frames", "smokers", "drones",
                          "wax presses", "flower strips")),
    Topic("river fishing", ("rods", "trout pools", "weirs", "hand nets", "floats", "fly lines",
                            "waders", "spawning beds")),
    Topic("glacier science", ("ice cores", "moraines", "crevasses", "melt lakes", "snow pits",
                              "drill camps", "seismic lines", "cloud cameras")),
    Topic("street theatre", ("masks", "glove puppets", "stilts", "drums", "juggling troupes",
                             "costume trunks", "stage wagons", "prompt books")),
)  # fmt: skip
_SETTINGS = (
    "for mountain huts", "on old roofs", "in the wet season", "for beginners", "after dark",
    "on small islands", "in village schools", "along the north coast", "with a small budget",
    "through the ages", "in wartime", "without a workshop", "for two people", "in one weekend",
    "behind the harbour", "under snow", "as a family trade", "in nine drawings",
)  # fmt: skip
_SENTENCES = (
    "Nobody in {place} spoke of {phrase} before the first {thing} arrived.",
    "Good {thing} cost less than people think, and {phrase} repays them within {n} years.",
    "The oldest book on {phrase} has {n} plates, most of them of {thing}.",
    "In {place} the {thing} and the {other} are kept under one roof.",
    "Whoever begins with {phrase} should look at {thing} first and at {other} later.",
    "Some {n} pairs of {thing} were counted around {place} in a single summer.",
    "What {thing} are to {place}, {other} are to its neighbours.",
    "The school of {place} teaches {phrase} with {thing} made by its own pupils.",
    "Of all the letters about {phrase}, {n} ask where to find {other}.",
    "Old {thing} are mended in {place}; {other} are not worth the trouble.",
)  # fmt: skip
_SURE = "This chapter is about {phrase} in {place}, and about the {thing} that {phrase} needs."
_WORD = re.compile(r"\w+")
_OFTEN = 3
GENERIC = ("Read on", "The next volume", "Another book from this shelf", "Continue here")


def title_of(topic: Topic, draw: random.Random) -> str:
    """Return a title; two in three name the topic itself."""
    thing, other = draw.sample(topic.things, 2)
    setting = draw.choice(_SETTINGS)
    if draw.random() < 2 / 3:
        return f"{topic.phrase.capitalize()} {setting}"
    return f"{thing.capitalize()} and {other} {setting}"


def texts_of(topic: Topic, draw: random.Random) -> list[str]:
    """Return the paragraphs of a text on ``topic``."""
    written = [_SURE, *draw.sample(_SENTENCES, draw.randint(5, 8))]
    lines = [_filled(line, topic, draw) for line in written]
    return [" ".join(lines[:3]), " ".join(lines[3:]), paragraph(draw, sentences=2)]


def is_about(page: Page, phrase: str) -> bool:
    """Tell whether the own words of ``page`` are on ``phrase``, not just a mention in passing."""
    said = Counter(_WORD.findall(_own_words(page).lower()))
    words = set(_WORD.findall(phrase.lower()))
    return bool(words) and all(said[word] >= _OFTEN for word in words)


def _own_words(page: Page) -> str:
    """Return title and running text, without the texts of links."""
    texts = [page.title or ""]
    for block in page.blocks:
        if isinstance(block, Prose):
            texts += [part for part in block.parts if isinstance(part, str)]
    return " ".join(texts)


def _filled(line: str, topic: Topic, draw: random.Random) -> str:
    thing, other = draw.sample(topic.things, 2)
    place, n = draw.choice(PLACES), draw.randint(3, 90)
    return line.format(phrase=topic.phrase, thing=thing, other=other, place=place, n=n)
