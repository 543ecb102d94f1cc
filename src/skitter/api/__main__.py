"""The process of the service: ``python -m skitter.api``, started by ``skitter up``."""

import argparse
import logging
import socket
import sys

import msgspec
import uvloop

from skitter.api.app import create_app
from skitter.api.dashboard.mount import mount
from skitter.api.server import Server
from skitter.cluster.crew import die_with_parent
from skitter.crawl.load import raise_file_limit
from skitter.errors import ConfigError
from skitter.wiring.service import ServiceOptions, open_service
from skitter.wiring.service_process import READY


def main() -> int:
    """Serve until told to stop; return the exit code."""
    parser = argparse.ArgumentParser(prog="skitter.api")
    parser.add_argument("--line", type=int, required=True, help="the parent's end is its other")
    parser.add_argument("--listen", type=int, help="a socket to accept connections from")
    given = parser.parse_args()
    die_with_parent()
    raise_file_limit()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    # Everything is loaded by the time that the store can be asked.
    options = msgspec.json.decode(sys.stdin.buffer.read(), type=ServiceOptions)
    line = socket.socket(fileno=given.line)
    listening = None if given.listen is None else socket.socket(fileno=given.listen)
    try:
        uvloop.run(_serve(options, line, listening))
    except ConfigError as error:
        print(f"the service: {error}", file=sys.stderr)  # noqa: T201  the only place to say it
        return 2
    return 0


async def _serve(
    options: ServiceOptions, line: socket.socket, listening: socket.socket | None
) -> None:
    async with open_service(options) as service:
        app = create_app(service)
        mount(app)
        server = Server(app, lambda: line.send(READY))
        server.take_from(line)
        await server.serve([] if listening is None else [listening])


if __name__ == "__main__":
    sys.exit(main())
