"""Which hosts of crowded slots go where."""

from skitter.cluster.relief import MOST_MOVES, Efforts, Move, choose_moves
from skitter.frontier.members import Beat
from skitter.frontier.redis.moving import Crowd
from skitter.types import HostKey


def crowd(slot: int, **waiting: int) -> list[Crowd]:
    return [Crowd(slot, HostKey(host), n) for host, n in waiting.items()]


def beat(name: str, busy_ms: int, spare_ms: int, *, draining: bool = False) -> Beat:
    return Beat(name=name, session=name, busy_ms=busy_ms, spare_ms=spare_ms, draining=draining)


def test_all_but_the_largest_go_to_idle_members_in_turns() -> None:
    hosts = [*crowd(1, a=5, b=9, c=7), *crowd(2, d=3, e=2)]
    moves = choose_moves(hosts, ["x", "y"], {"x": [4, 5], "y": [6]})
    assert moves == [Move(HostKey("c"), 4), Move(HostKey("a"), 6), Move(HostKey("e"), 5)]


def test_nobody_idle_and_nobody_with_a_bucket_means_no_move() -> None:
    assert choose_moves(crowd(1, a=5, b=9), [], {"x": [1]}) == []
    assert choose_moves(crowd(1, a=5, b=9), ["x"], {"x": []}) == []
    assert choose_moves([], ["x"], {"x": [1]}) == []


def test_the_order_of_what_is_found_does_not_matter() -> None:
    hosts = [*crowd(1, a=5, b=5, c=5), *crowd(2, d=3, e=2)]
    args = (["x", "y"], {"x": [4], "y": [6]})
    assert choose_moves(hosts, *args) == choose_moves(hosts[::-1], *args)


def test_only_some_move_at_a_time() -> None:
    hosts = crowd(1, **{f"h{n}": n + 1 for n in range(50)})
    assert len(choose_moves(hosts, ["x"], {"x": [1]})) == MOST_MOVES


def test_who_is_busy_and_who_has_time_follows_from_two_looks() -> None:
    efforts = Efforts()
    efforts.look([beat("a", 1000, 0), beat("b", 0, 1000), beat("c", 0, 0)])
    assert (efforts.busy(), efforts.idle()) == ([], [])
    efforts.look([beat("a", 3000, 100), beat("b", 100, 3000), beat("c", 0, 2000), beat("d", 9, 9)])
    assert (efforts.busy(), efforts.idle()) == (["a"], ["c", "b"])
    efforts.look([beat("a", 3000, 2000), beat("b", 2100, 3000), beat("c", 0, 4000, draining=True)])
    assert (efforts.busy(), efforts.idle()) == (["b"], ["a"])
