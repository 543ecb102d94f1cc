"""What is known of a page as an article, and as what kind of page it is judged."""

from dataclasses import dataclass
from typing import Literal

PageClass = Literal["nav", "data"]
"""A page of links to others, or one with contents of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What kind of page it is, and why."""

    page_class: PageClass
    confidence: float
    """From 0.5, which is a guess, to 1."""
    why: str
    """The strongest evidence, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """The article of a page. ``None`` means the page does not say."""

    title: str | None = None
    text: str = ""
    """Paragraphs, headings, list items and rows of tables, a blank line between paragraphs."""
    author: str | None = None
    """Names, with commas between them."""
    published: str | None = None
    """RFC 3339, without a zone where the page names none; a day alone as YYYY-MM-DD."""
    description: str | None = None
    image: str | None = None
    """Absolute URL."""
    language: str | None = None
    """ISO 639-1."""
    method: str = ""
    """How the text was found: tree, lines, library or stated."""
