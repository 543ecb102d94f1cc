"""Work that is not to end while its process lives: begun again when it fails."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

FIRST_S: Final = 0.5
"""Before it is begun again for the first time; twice as long each time after that."""
LONGEST_S: Final = 30.0
"""What has gone well for so long is begun again as if it had never failed."""

log = logging.getLogger(__name__)


async def kept_going(what: str, work: Callable[[], Awaitable[object]]) -> None:
    """Do ``work`` again whenever it ends, until this is cancelled; why it ended is logged."""
    loop = asyncio.get_running_loop()
    pause_s = FIRST_S
    while True:
        begun = loop.time()
        try:
            await work()
            log.error("%s has ended; it begins again", what)
        except Exception:  # nobody else would begin it again
            log.exception("%s has failed; it begins again", what)
        if loop.time() - begun >= LONGEST_S:
            pause_s = FIRST_S
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_S)
