"""The process of the service: told what to do by its parent, it serves until told to stop."""

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
from skitter.garbage import keep_what_is_loaded
from skitter.observability.logs import json_handler
from skitter.wiring.service import ServiceOptions, open_service
from skitter.wiring.service_child import LISTEN
from skitter.wiring.service_process import READY


def main() -> int:
    """Serve until told to stop; return the exit code."""
    parser = argparse.ArgumentParser(prog="skitter.api")
    parser.add_argument("--line", type=int, required=True, help="the parent's end is its other")
    given = parser.parse_args()
    die_with_parent()
    raise_file_limit()
    # Everything is loaded by the time that the store can be asked.
    told = sys.stdin.buffer.read()
    if not told:
        # Who started this one has changed its mind.
        return 0
    options = msgspec.json.decode(told, type=ServiceOptions)
    _log(as_json=options.log_json)
    line = socket.socket(fileno=given.line)
    listening = None if options.store is None else _given_socket(line)
    try:
        uvloop.run(_serve(options, line, listening))
    except ConfigError as error:
        print(f"the service: {error}", file=sys.stderr)  # noqa: T201  the only place to say it
        return 2
    return 0


def _given_socket(line: socket.socket) -> socket.socket:
    """Return the socket to accept connections from, which was sent before anything else."""
    said, fds, _, _ = socket.recv_fds(line, 16, 1)
    assert said == LISTEN
    return socket.socket(fileno=fds[0])


def _log(*, as_json: bool) -> None:
    """Say what goes wrong on standard error; where the log is JSON, also what is asked."""
    if as_json:
        logging.basicConfig(level=logging.INFO, handlers=[json_handler(sys.stderr)])
    else:
        logging.basicConfig(level=logging.WARNING, format="%(message)s")


async def _serve(
    options: ServiceOptions, line: socket.socket, listening: socket.socket | None
) -> None:
    async with open_service(options) as service:
        app = create_app(service)
        mount(app)
        keep_what_is_loaded()
        server = Server(app, lambda: line.send(READY))
        server.take_from(line)
        await server.serve([] if listening is None else [listening])
