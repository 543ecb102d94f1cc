"""How the worker processes of a machine are started: their command lines and environment."""

import os

from skitter.cluster.crew import Crew, worker_command
from skitter.config import env_name
from skitter.wiring.node_options import NodeOptions

PROGRAM_WORDS = len(worker_command())
"""How many words of a worker's command line are the program itself."""


def node_crew(options: NodeOptions) -> Crew:
    """Return the workers of a machine, not yet started."""
    return Crew(options.workers, lambda place: words_of(options, place), environment(options))


def words_of(options: NodeOptions, place: int) -> list[str]:
    """Return the command line of a worker that works in that place."""
    args = ["node", "--place", str(place), "--concurrency", str(options.concurrency)]
    args += ["--data", str(options.data)]
    if options.control is not None:
        args += ["--control", options.control]
    if options.name:
        args += ["--name", options.name]
    if options.idle_exit is not None:
        args += ["--idle-exit", str(options.idle_exit)]
    if options.egress:
        args += ["--egress", options.egress]
    if options.hosts is not None:
        args += ["--hosts", str(options.hosts)]
    if options.store is not None:
        args += ["--picker", options.picker]
    args += ["--allow-private"] if options.allow_private else []
    args += ["--fast"] if options.fast else []
    return worker_command(*args)


def environment(options: NodeOptions) -> dict[str, str]:
    """Hand over what must not be seen in a list of processes."""
    env = {**os.environ}
    given = {
        "store": options.store,
        "cold": options.cold,
        "index": options.index,
        "token": options.token,
        "control": None,
    }
    for name, value in given.items():
        env.pop(env_name(name), None)
        if value:
            env[env_name(name)] = value
    return env
