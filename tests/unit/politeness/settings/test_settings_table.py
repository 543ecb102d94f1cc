"""The table: what counts for a host, what is stored, and what of a later version is left alone."""

from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.errors import ConfigError
from skitter.job.rate import Rate
from skitter.politeness.settings.live import LiveSettings
from skitter.politeness.settings.patterns import covers
from skitter.politeness.settings.table import (
    MARKS,
    NOTHING_SET,
    STAMP,
    NewerSettings,
    Row,
    SiteSettings,
    Table,
)
from skitter.politeness.settings.values import Value
from skitter.types import HostKey

A = HostKey("www.a.com")


def table(**rows: Mapping[str, Value]) -> Table:
    named = {"all": "*", "dot": ".a.com", "star": "*.a.com", "host": "www.a.com"}
    return Table(
        Row(pattern=named[name], values=values, revision=1) for name, values in rows.items()
    )


def test_the_narrowest_pattern_wins_key_by_key() -> None:
    found = table(
        all={"delay": 1.0, "depth": 9},
        dot={"delay": 2.0, "per_host": 2},
        star={"rate": Rate(20, 60_000), "per_host": 3},
        host={"delay": 4.0},
    ).of(A)
    assert found == SiteSettings(delay=4.0, per_host=3, rate=Rate(20, 60_000), depth=9)


def test_a_narrow_pattern_can_take_a_host_off_the_blacklist() -> None:
    mixed = table(dot={"blacklist": True}, host={"blacklist": False})
    assert not mixed.of(A).blacklist
    shop = mixed.of(HostKey("shop.a.com:81"))
    assert shop.blacklist
    assert shop.blacklisted_by == ".a.com"


def test_an_empty_table_costs_nothing_and_says_nothing() -> None:
    empty = Table([Row(pattern="www.a.com", revision=2)])
    assert not empty
    assert empty.of(A) is NOTHING_SET
    assert empty.in_force == []
    assert empty.version == 2


def test_where_a_value_is_said_is_told() -> None:
    some = table(all={"delay": 1.0}, dot={"depth": 3}, host={"per_host": 2})
    assert {key: found.pattern for key, found in some.effective("www.a.com").items()} == {
        "per_host": "www.a.com",
        "depth": ".a.com",
        "delay": "*",
    }
    assert set(some.effective("*.a.com")) == {"depth", "delay"}
    assert set(some.effective("*")) == {"delay"}


names = st.sampled_from(["a.com", "www.a.com", "b.a.com", "x.b.a.com", "b.com", "a.com:81"])
patterns = st.one_of(
    st.just("*"), names, st.sampled_from(["a.com", "b.a.com", "com"]).map("*.{}".format)
) | st.sampled_from([".a.com", ".b.a.com", ".com", ".www.a.com"])
hosts = st.sampled_from(
    [HostKey(name) for name in ("a.com", "www.a.com", "www.a.com:81", "x.b.a.com", "b.com")]
)
UNIVERSE = [
    HostKey(f"{sub}{name}{port}")
    for name in ("com", "a.com", "www.a.com", "b.a.com", "x.b.a.com", "b.com")
    for sub in ("", "deep.")
    for port in ("", ":81", ":82")
]


@given(st.dictionaries(patterns, st.floats(0, 9)), hosts)
def test_no_pattern_inside_the_winning_one_covers_the_host(
    delays: dict[str, float], host: HostKey
) -> None:
    found = Table(Row(pattern=one, values={"delay": delay}) for one, delay in delays.items())
    covering = [one for one in delays if covers(one, host)]
    if not covering:
        assert found.of(host).delay is None
        return
    winner = found.effective(host)["delay"].pattern
    assert winner in covering
    assert found.of(host).delay == delays[winner]
    reach = {one: {other for other in UNIVERSE if covers(one, other)} for one in covering}
    assert all(not reach[other] < reach[winner] for other in covering)


def test_a_row_is_stored_and_read_with_who_changed_it_and_when() -> None:
    row = Table().changed(
        "*.gov.cn", {"rate": Rate(20, 60_000), "delay": 2.0, "blacklist": True}, "ana@desk", 1_700
    )
    assert list(row.values) == ["delay", "rate", "blacklist"]
    assert Row.decode(row.mark, row.encode()) == row
    assert (row.revision, row.by, row.at_ms) == (1, "ana@desk", 1_700)


def test_the_version_grows_with_every_change_whoever_makes_it() -> None:
    start = Table()
    ana = start.changed("a.com", {"delay": 2.0}, "ana", 1)
    bo = start.changed("b.com", {"delay": 3.0}, "bo", 1)
    both = Table.read({row.mark: row.encode() for row in (ana, bo)})
    assert both.version == 2
    assert both.of(HostKey("a.com")).delay == 2.0
    assert both.of(HostKey("b.com")).delay == 3.0
    gone = both.with_row(both.without("a.com", (), "ana", 2))
    assert gone.version == 3
    assert gone.of(HostKey("a.com")) == NOTHING_SET


def test_set_adds_to_a_row_and_unset_takes_from_it() -> None:
    some = Table().with_row(Table().changed("a.com", {"delay": 2.0, "depth": 3}, "ana", 1))
    more = some.with_row(some.changed("a.com", {"delay": 5.0, "per_host": 2}, "ana", 2))
    assert more.rows["a.com"].values == {"delay": 5.0, "per_host": 2, "depth": 3}
    less = more.with_row(more.without("a.com", ["delay"], "ana", 3))
    assert less.rows["a.com"].values == {"per_host": 2, "depth": 3}
    with pytest.raises(ConfigError, match=r"delay: is not set for a\.com"):
        less.without("a.com", ["delay"], "ana", 4)
    with pytest.raises(ConfigError, match=r"b\.com: nothing is set for it"):
        less.without("b.com", (), "ana", 4)


def test_concurrency_is_for_whole_members_alone() -> None:
    with pytest.raises(ConfigError, match=r'concurrency: .* wanted with the pattern "\*"'):
        Table().changed("a.com", {"concurrency": 8}, "ana", 1)
    some = Table().with_row(Table().changed("*", {"concurrency": 8, "delay": 1.0}, "ana", 1))
    assert some.concurrency == 8
    assert some.of(A) == SiteSettings(delay=1.0)
    assert Table().concurrency is None


NEWER = [
    msgspec.json.encode({"format": 2, "colour": [1, 2]}),
    msgspec.json.encode({"format": 1, "revision": 1, "values": {"colour": "red"}}),
]


@pytest.mark.parametrize("data", NEWER)
def test_a_row_of_a_later_version_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(NewerSettings, match=r"settings of \*\.a\.com: written by a newer Skitter"):
        Table.read({f"{MARKS}*.a.com": data})


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"format":1,"values":{"delay":"-3"}}'])
def test_a_damaged_row_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(ConfigError, match=r"settings of a\.com: "):
        Table.read({f"{MARKS}a.com": data})


class Marks:
    """A store of marks that counts how often it is asked for all."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.asked = 0

    def put(self, row: Row, stamp: bytes) -> None:
        self.kept |= {row.mark: row.encode(), STAMP: stamp}

    async def mark(self, name: str) -> bytes | None:
        return self.kept.get(name)

    async def marks(self, prefix: str) -> dict[str, bytes]:
        self.asked += 1
        return {name: data for name, data in self.kept.items() if name.startswith(prefix)}


async def test_rows_are_read_only_when_the_stamp_has_changed() -> None:
    store, live = Marks(), LiveSettings()
    assert not await live.refresh(store)
    assert store.asked == 0
    store.put(Table().changed("www.a.com", {"rate": Rate(20, 60_000)}, "ana", 1), b"1")
    assert await live.refresh(store)
    assert not await live.refresh(store)
    assert store.asked == 1
    assert live.rate_for(A) == Rate(20, 60_000)
    assert live.rate_for(HostKey("b.com")) is None
    store.put(live.table.without("www.a.com", (), "ana", 2), b"2")
    assert await live.refresh(store)
    assert live.rate_for(A) is None


async def test_a_process_keeps_the_settings_it_has_when_newer_ones_come(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store, live = Marks(), LiveSettings()
    store.put(Table().changed("www.a.com", {"delay": 3.0}, "ana", 1), b"1")
    assert await live.refresh(store)
    store.kept |= {f"{MARKS}b.com": NEWER[0], STAMP: b"2"}
    assert not await live.refresh(store)
    assert not await live.refresh(store)
    assert live.of(A).delay == 3.0
    assert [record.getMessage() for record in caplog.records] == [
        "settings of b.com: written by a newer Skitter (format 2, this one reads up to 1);"
        " the settings stay as they were"
    ]
