"""The documents of the project, and the fenced blocks in them."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
README = ROOT / "README.md"


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(path: Path, *kinds: str) -> list[str]:
    """Return the fenced blocks of a page that are of one of ``kinds``."""
    text = path.read_text(encoding="utf-8")
    found = re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [body for kind, body in found if kind in kinds]
