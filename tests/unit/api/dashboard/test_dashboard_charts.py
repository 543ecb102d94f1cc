from skitter.api.dashboard.charts import begun, line_of, lines, status_bars, total
from skitter.api.dashboard.i18n.words import Words
from skitter.api.dashboard.nodes import speed_lines
from skitter.client.events import Point, Series, Step

AT = ("2026-01-31T09:30:00Z", "2026-01-31T09:30:10Z", "2026-01-31T09:30:20Z")
MS = 1769851800000


def series(name: str, *numbers: int) -> Series:
    points = [Point(at=at, n=n) for at, n in zip(AT, numbers, strict=False)]
    return Series(name=name, step=Step.TEN_SECONDS, points=points)


def test_points_are_milliseconds_and_speeds() -> None:
    assert line_of(series("pages", 10, 25).points, per=10) == [(MS, 1.0), (MS + 10_000, 2.5)]


def test_series_are_added_up() -> None:
    assert total([series("a", 1, 2), series("b", 10, 20)]) == {MS: 11, MS + 10_000: 22}


def test_status_codes_are_drawn_by_their_class() -> None:
    drawn = status_bars([series("status:200", 5), series("status:204", 1), series("status:503", 2)])
    assert [(one["name"], one["data"]) for one in drawn["series"]] == [
        ("2xx", [[MS, 6.0]]),
        ("5xx", [[MS, 2.0]]),
    ]


def test_a_legend_is_there_for_several_lines_only() -> None:
    assert lines([("one", [])])["legend"]["show"] is False
    assert lines([("one", []), ("two", [])])["legend"]["show"] is True


def test_the_speed_of_a_node_leaves_out_the_step_that_is_not_over() -> None:
    drawn = speed_lines([series("pages|node=harbour", 10, 20, 3)], Words("en"))
    assert drawn["series"][0]["name"] == "harbour"
    assert drawn["series"][0]["data"] == [[MS, 1.0], [MS + 10_000, 2.0]]


def test_a_line_begins_where_something_happens_but_is_not_too_short() -> None:
    line = [(at, float(at > 5)) for at in range(10)]
    assert begun(line, least=3) == line[5:]
    assert begun(line, least=8) == line[2:]
    quiet = [(at, 0.0) for at in range(10)]
    assert begun(quiet, least=4) == quiet[6:]
    assert begun([], least=4) == []


def test_names_are_values_and_never_keys() -> None:
    """NiceGUI runs the values of keys that begin with a colon."""

    def keys(value: object) -> list[str]:
        if isinstance(value, dict):
            return [*value, *(key for one in value.values() for key in keys(one))]
        return [key for one in value for key in keys(one)] if isinstance(value, list) else []

    drawn = [lines([(":alert(1)", [])]), status_bars([series("status::x", 1)])]
    assert not [key for key in keys(drawn) if key.startswith(":")]
