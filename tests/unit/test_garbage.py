"""A process at work looks seldom for reference cycles, and never at what it was loaded with."""

import subprocess
import sys

CHILD = """
import gc
from skitter.garbage import expect_loading, keep_what_is_loaded
expect_loading()
assert gc.get_threshold()[0] > 50_000
loaded = [[] for _ in range(1_000)]
keep_what_is_loaded()
assert gc.get_freeze_count() > 1_000
assert gc.isenabled() and gc.get_threshold()[0] > 10_000
assert not any(one is loaded for one in gc.get_objects())
"""


def test_what_is_loaded_is_kept_out_of_the_collectors_way() -> None:
    subprocess.run([sys.executable, "-c", CHILD], check=True, timeout=60)
