"""Where the bench keeps what it makes; nothing is written outside ``OUT``."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "bench" / "out"
WEBS = OUT / "webs"
VENVS = OUT / ".venvs"
"""Hidden, so that type checkers and linters leave it alone."""
RUNS = OUT / "runs"
RESULTS = OUT / "results.json"
STORE_RESULTS = OUT / "store.json"
