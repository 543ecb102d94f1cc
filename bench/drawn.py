"""Puts figures into a page of the docs, between two marks; the words around them are left alone."""

from pathlib import Path


def place(page: Path, command: str, figures: str) -> None:
    """Replace what stands between the marks of a command."""
    begin, end = f"<!-- figures: {command} -->", f"<!-- end of {command} -->"
    text = page.read_text(encoding="utf-8")
    head, found, rest = text.partition(begin)
    _, ended, tail = rest.partition(end)
    if not found or not ended:
        raise ValueError(f"{page}: no marks of {command}")
    page.write_text(f"{head}{begin}\n\n{figures}\n\n{end}{tail}", encoding="utf-8")
