"""How much memory a command takes at most."""

import subprocess
import sys
from pathlib import Path

# A process begins with the peak of the one that started it, so a small one stands in between.
_WATCH = """
import resource, subprocess, sys
from pathlib import Path
code = subprocess.run(sys.argv[2:]).returncode
Path(sys.argv[1]).write_text(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code)
"""


def with_peak(command: list[str], note: Path) -> tuple[subprocess.CompletedProcess[str], float]:
    """Run a command; return how it ended and its peak of memory in megabytes."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", _WATCH, str(note), *command],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done, int(note.read_text()) / 1024
