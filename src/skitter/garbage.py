"""When the collector of reference cycles runs, in a process of its own.

There are few cycles to find, and what is loaded once stays for good: to look through half a million
objects again and again held up every answer of a busy service for a tenth of a second.
"""

import gc

_LOADING = 100_000
"""New objects before the collector looks while modules are loaded, which leave no cycles: looking
took a seventh of the time it takes to load those of a crawl."""
_RUNNING = (20_000, 20, 50)
"""The same for a process at work: a look at everything that a large crawl remembers takes long."""


def expect_loading() -> None:
    """Let modules be loaded without looks at what they are made of."""
    gc.set_threshold(_LOADING, *gc.get_threshold()[1:])


def keep_what_is_loaded() -> None:
    """Never look again at what is there by now, and seldom at what comes."""
    gc.freeze()
    gc.set_threshold(*_RUNNING)
