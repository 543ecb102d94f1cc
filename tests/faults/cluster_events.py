"""What happens to a cluster at random: members, control, store and lines fail and come back."""

import heapq
import itertools
import random
import time
from collections.abc import Callable, Sequence

from cluster_world import Span, World, now_ms
from killable import INTERRUPTED, Command
from stores import RedisCluster, RedisServer, wait_until

REST_S = (0.8, 2.5)
"""Between two events."""
BACK_S = (2.2, 4.0)
"""Before a dead member is started again."""
PAUSE_S = (8.0, 10.0)
"""Past the ownership of slots, and past the time after which a silent member counts as dead."""
CUTS_S = (1.0, 3.0, 12.0)
MOST_NODES = 6
SETTLE_S = 2.0
"""How long a command takes to find out that the store is not there."""
REFUSED = (1, 2, 3)
PASSING = ("does not answer", "failing over", "is loading its data")
"""What is wrong with a store for a while."""


class Events:
    """Draws events for a world; what they leave broken is mended later, while others happen."""

    def __init__(self, world: World, rng: random.Random) -> None:
        self.log: list[str] = []
        """What happened, for whoever has to find out why."""
        self.failovers: list[float] = []
        """When masters of a Cluster were killed, in ms as in the log of the web."""
        self.spans: list[Span] = []
        """When pages that were in flight could not be acked any more."""
        self._world = world
        self._rng = rng
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._mending: set[str] = set()
        self._joined = itertools.count(1)

    def happen(self, kinds: Sequence[str]) -> None:
        """Let one event of each of ``kinds`` happen, in this order."""
        for kind in kinds:
            self._pass(self._rng.uniform(*REST_S))
            while not getattr(self, f"_{kind}")():
                self._pass(0.3)
            assert self._world.crawl.code != 0, f"the crawl ended before its events\n{self.told()}"

    def mend(self) -> None:
        """Bring everything back that is to come back."""
        self._pass(SETTLE_S)
        while self._later:
            self._pass(SETTLE_S)

    def told(self) -> str:
        """Return what happened, and what everybody said of it."""
        return "\n".join([*self.log, self._world.standing()])

    def _pass(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while True:
            while self._later and self._later[0][0] <= time.monotonic():
                heapq.heappop(self._later)[2]()
            self._start_refused()
            left = until - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, 0.05))

    def _start_refused(self) -> None:
        """Start those again that were started while the store was away, as anybody would."""
        for command in (self._world.crawl, *self._world.nodes.values()):
            if command.code not in REFUSED or command.name in self._mending:
                continue
            why = command.told.splitlines()[-1]
            assert any(words in why for words in PASSING), self.told()
            self._note(f"refused: {why}")
            self._after(1.0, command.name, "start", command.start)

    def _note(self, what: str) -> bool:
        self.log.append(f"{now_ms():.0f} {what}")
        return True

    def _after(self, seconds: float, name: str, what: str, act: Callable[[], None]) -> None:
        self._mending.add(name)

        def mended() -> None:
            self._note(f"{what} {name}")
            act()
            self._mending.discard(name)

        heapq.heappush(self._later, (time.monotonic() + seconds, next(self._numbers), mended))

    def _broke(self, low: float, high: float | None = None) -> None:
        """Remember that something broke, and when the last member had noticed that all is well."""
        self.spans.append(Span(low, low if high is None else high + SETTLE_S * 1000))

    def _between(self, bounds: tuple[float, float]) -> float:
        return self._rng.uniform(*bounds)

    def _any_node(self) -> Command | None:
        """Return a node that is well, unless it is the last one."""
        well = [
            node
            for name, node in sorted(self._world.nodes.items())
            if node.up and not node.paused and name not in self._mending
        ]
        return self._rng.choice(well) if len(well) > 1 else None

    def _kill(self, command: Command, what: str) -> bool:
        command.kill()
        self._broke(now_ms())
        is_crawl = command is self._world.crawl
        wait_s = 0.3 if is_crawl else self._between(BACK_S)
        self._after(wait_s, command.name, "start", command.start)
        return self._note(f"kill {command.name} ({what})")

    def _member(self) -> bool:
        node = self._any_node()
        return node is not None and self._kill(node, "member")

    def _control(self) -> bool:
        command = self._world.in_control()
        if command is None or command.name in self._mending:
            return False
        return self._kill(command, "control")

    def _crawl(self) -> bool:
        if "crawl" in self._mending:
            return False
        return self._kill(self._world.crawl, "writer")

    def _pause(self) -> bool:
        node = self._any_node()
        if node is None:
            return False
        node.pause()
        self._broke(now_ms())
        self._after(self._between(PAUSE_S), node.name, "wake", node.resume)
        return self._note(f"pause {node.name}")

    def _join(self) -> bool:
        if sum(node.up for node in self._world.nodes.values()) >= MOST_NODES:
            return self._leave()
        name = f"two-new{next(self._joined)}"
        self._world.node(name).start()
        return self._note(f"join {name}")

    def _leave(self) -> bool:
        node = self._any_node()
        if node is None:
            return False
        code = node.leave()
        assert code == INTERRUPTED, f"{node.name} left with {code}\n{self.told()}"
        if sum(other.up for other in self._world.nodes.values()) < 4:
            self._after(self._between(BACK_S), node.name, "start", node.start)
        return self._note(f"leave {node.name}")

    def _cut(self) -> bool:
        node = self._any_node()
        if node is None:
            return False
        line = self._world.lines[node.name]
        seconds = self._rng.choice(CUTS_S)
        how = self._rng.choice(["cut", "hang"])
        self._broke(now_ms(), now_ms() + seconds * 1000)
        (line.cut if how == "cut" else line.hang)()
        self._after(seconds, node.name, "heal", line.heal)
        return self._note(f"{how} the line of {node.name} for {seconds} s")

    def _store(self) -> bool:
        store = self._world.store
        assert isinstance(store, RedisServer)
        at = now_ms()
        store.kill()
        self._note("kill the store")
        time.sleep(self._rng.uniform(0.1, 1.5))
        store.start()
        self._broke(at, now_ms())
        return self._note("start the store")

    def _failover(self) -> bool:
        store = self._world.store
        assert isinstance(store, RedisCluster)
        if "store" in self._mending:
            return False
        store.wait_ok()
        masters = {at[2][1] for at in store.living()[0].cli("CLUSTER", "SLOTS")}
        server = self._rng.choice([node for node in store.nodes if node.port in masters])
        server.kill()
        self.failovers.append(now_ms())
        self._note(f"kill the master {server.port}")

        def taken_over() -> bool:
            rows = [row for node in store.living() for row in node.cli("CLUSTER", "SLOTS")]
            return all(row[2][1] != server.port for row in rows)

        wait_until("the failover", taken_over)
        self._broke(self.failovers[-1], now_ms())
        self._after(self._between((1.0, 2.0)), "store", "start a replica of the", server.start)
        return self._note("a replica has taken over")
