"""Webs about several topics, drawn from a dice, and crawls of them in pure Python."""

import heapq
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from skitter.crawl.relevance import Relevance, best_texts

TOPICS = (
    ("election", "ballot", "voting"),
    ("football", "league", "stadium"),
    ("recipe", "kitchen", "baking"),
    ("galaxy", "telescope", "orbit"),
    ("garden", "flower", "compost"),
)
KEYWORDS = TOPICS[0]
_PLAIN = (
    "the", "of", "and", "to", "in", "on", "with", "for", "people", "town", "work", "old", "water",
    "river", "street", "night", "small", "plan", "open", "hand", "house", "long", "year",
    "morning", "evening", "market", "school", "road", "light", "stone", "every", "other", "first",
)  # fmt: skip
_VAGUE = ("read more", "here", "next", "continue", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What kind of web it is; shares are of 1."""

    seed: int
    pages: int = 600
    links: int = 9
    same_topic: float = 0.6
    """Links of a page that stay with its topic."""
    told: float = 0.7
    """Links whose text names the topic of their target."""
    false: float = 0.06
    """Links to other pages whose text holds a keyword nevertheless."""
    spelled: float = 0.3
    """URLs that name the topic."""
    hidden: float = 0.1
    """Pages about the keywords that only pages about other things link to."""
    listed: bool = False
    """Whether pages are found by paging through lists, as on a news site."""


@dataclass(slots=True)
class Node:
    """One page."""

    number: int
    topic: int | None
    title: str = ""
    text: str = ""
    url: str = ""
    links: list[tuple[str, int]] = field(default_factory=list)
    """Text and target of each link."""

    @property
    def relevant(self) -> bool:
        return self.topic == 0


class _Maker:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.dice = random.Random(plan.seed)
        self.nodes = [self._node(number) for number in range(plan.pages)]

    def _node(self, number: int) -> Node:
        node = Node(number, self.dice.randrange(len(TOPICS)) if number else 1)
        assert node.topic is not None
        words = self._words(120)
        for _ in range(max(1, round(self.dice.gauss(4, 2)))):
            words[self.dice.randrange(120)] = self.dice.choice(TOPICS[node.topic])
        if self.dice.random() < 0.08:
            words[self.dice.randrange(120)] = self.dice.choice(KEYWORDS)
        node.text = " ".join(words)
        node.title = " ".join(self._words(3))
        if self.dice.random() < 0.8:
            node.title = f"{self.dice.choice(TOPICS[node.topic])} {node.title}"
        spelled = self.dice.random() < self.plan.spelled
        name = f"{self.dice.choice(TOPICS[node.topic])}-" if spelled else ""
        node.url = f"http://site.test/p/{name}{number}.html"
        return node

    def _words(self, count: int) -> list[str]:
        return self.dice.choices(_PLAIN, k=count)

    def link(self, source: Node, target: Node) -> None:
        chance = self.dice.random()
        if chance < self.plan.told and target.topic is not None:
            text = f"{' '.join(self._words(2))} {self.dice.choice(TOPICS[target.topic])}"
        elif chance > 1 - self.plan.false:
            text = f"{self.dice.choice(KEYWORDS)} {self.dice.choice(_PLAIN)}"
        else:
            text = self.dice.choice(_VAGUE)
        source.links.append((text, target.number))

    def cluster(self) -> list[Node]:
        plan, dice, nodes = self.plan, self.dice, self.nodes
        hidden = {node.number for node in nodes if node.relevant and dice.random() < plan.hidden}
        by_topic = [[node for node in nodes if node.topic == topic] for topic in range(len(TOPICS))]
        for node in nodes:
            for _ in range(plan.links):
                near = dice.random() < plan.same_topic and node.topic is not None
                target = dice.choice(by_topic[node.topic or 0] if near else nodes)
                if target.number not in hidden or not node.relevant:
                    self.link(node, target)
        for node in nodes[1:]:
            # Whatever the dice say, every page can be reached.
            earlier = dice.sample(nodes[: node.number], min(6, node.number))
            wanted = [other for other in earlier if other.topic == node.topic]
            if node.number in hidden:
                wanted = [other for other in earlier if not other.relevant]
            self.link((wanted or earlier)[0], node)
        return nodes

    def listing(self) -> list[Node]:
        """Sort the pages into lists by topic; pages themselves link to any few others."""
        nodes = self.nodes
        pages = nodes[1:]
        for node in pages:
            for target in self.dice.choices(pages, k=4):
                node.links.append((target.title, target.number))
        for topic in range(len(TOPICS)):
            members = [node for node in pages if node.topic == topic]
            self._list(topic, [members[at : at + 10] for at in range(0, len(members), 10)])
        return nodes

    def _list(self, section: int, parts: Sequence[Sequence[Node]]) -> None:
        first = len(self.nodes)
        for place, part in enumerate(parts):
            url = f"http://site.test/{section}/{place}"
            node = Node(first + place, None, f"list {place}", "", url)
            node.links = [(member.title, member.number) for member in part]
            if place + 1 < len(parts):
                node.links.append((f"Page {place + 2}", node.number + 1))
            self.nodes.append(node)
        self.nodes[0].links.append((f"Section {section}", first))


def make_web(plan: Plan) -> list[Node]:
    """Return the pages; page 0 is where a crawl starts."""
    maker = _Maker(plan)
    return maker.listing() if plan.listed else maker.cluster()


def crawl_breadth_first(web: Sequence[Node]) -> list[Node]:
    """Return the pages in the order of a plain crawl."""
    order, known = [web[0]], {0}
    for node in order:
        for _, target in node.links:
            if target not in known:
                known.add(target)
                order.append(web[target])
    return order


def crawl_best_first(web: Sequence[Node], *, ahead: int = 1, better: bool = False) -> list[Node]:
    """Return the pages in the order of a best-first crawl that takes ``ahead`` pages at a time.

    ``better`` lets a waiting page move up when a better link to it is found.
    """
    relevance = Relevance(KEYWORDS)
    waiting = [(relevance.rank(relevance.link("", web[0].url, 1.0)), 0, 0)]
    ranks = {0: waiting[0][0]}
    order: list[Node] = []
    done = set[int]()
    while waiting:
        taken = list[tuple[int, Node]]()
        while waiting and len(taken) < ahead:
            rank, _, number = heapq.heappop(waiting)
            if number not in done:
                done.add(number)
                taken.append((rank, web[number]))
        for rank, node in taken:
            order.append(node)
            texts = best_texts((str(n) for _, n in node.links), (text for text, _ in node.links))
            fresh = [text for number, text in texts.items() if int(number) not in ranks]
            worth = max(relevance.page(node.title, None, node.text), relevance.hub(fresh))
            parent = relevance.handed_down(worth, rank)
            for name, text in texts.items():
                target = int(name)
                score = relevance.rank(relevance.link(text, web[target].url, parent))
                if target not in ranks or (better and score < ranks[target]):
                    ranks[target] = score
                    heapq.heappush(waiting, (score, len(ranks) * 10_000 + len(order), target))
    return order


def found_early(order: Sequence[Node]) -> float:
    """Return the share of the relevant pages among the first fifth of a crawl."""
    wanted = sum(node.relevant for node in order)
    return sum(node.relevant for node in order[: len(order) // 5]) / wanted
