"""One process of the service, as the one that starts it holds it.

It takes longer to load than what starts it, so it is started before anything else is loaded: this
module needs nothing but the standard library. It waits on its standard input for what to do.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress

LISTEN = b"l"
"""What goes with a socket to accept connections from."""
KEYS = frozenset(
    {"SKITTER_STORE", "SKITTER_COLD", "SKITTER_INDEX", "SKITTER_TOKEN", "SKITTER_CONTROL"}
)
"""Variables that open stores and services: the process is told what it needs of them."""


class ServiceChild:
    """A process that waits for what it is to do."""

    def __init__(self) -> None:
        self.line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        """The way to the process; it is hung up on when either end is closed."""
        self.line.setblocking(False)
        with theirs:
            fd = theirs.fileno()
            self._process = subprocess.Popen(  # noqa: S603  this program itself
                [sys.executable, "-m", "skitter.api", "--line", str(fd)],
                stdin=subprocess.PIPE,
                env={name: value for name, value in os.environ.items() if name not in KEYS},
                pass_fds=(fd,),
                start_new_session=True,
            )
        self.pid = self._process.pid

    def tell(self, message: bytes, listening: socket.socket | None) -> None:
        """Say what is to be done; with a socket, that connections are accepted there."""
        assert self._process.stdin is not None
        # It may have ended meanwhile, which is found out by who waits for it.
        with suppress(OSError):
            if listening is not None:
                socket.send_fds(self.line, [LISTEN], [listening.fileno()])
            self._process.stdin.write(message)
        with suppress(OSError):
            self._process.stdin.close()

    async def ended(self) -> int:
        """Return the exit code when the process has ended; a negative one is a signal's number."""
        if self._process.poll() is not None:
            # A signal that came too late has found that out, and there is nothing to wait on.
            return self._process.returncode
        loop = asyncio.get_running_loop()
        over = asyncio.Event()
        fd = os.pidfd_open(self.pid)
        try:
            loop.add_reader(fd, over.set)
            await over.wait()
        finally:
            loop.remove_reader(fd)
            os.close(fd)
        return self._process.wait()

    def send(self, number: signal.Signals) -> None:
        """Send a signal; one that has ended hears nothing."""
        self._process.send_signal(number)

    def discard(self) -> None:
        """End a process that was not needed after all; idempotent."""
        self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
        self.line.close()
