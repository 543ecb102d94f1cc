"""All metrics at one moment, in the text that Prometheus reads."""

from collections.abc import Iterable, Iterator, Mapping

from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from skitter.api.counters.standing import Standing
from skitter.api.herald import Herald
from skitter.api.metrics import table
from skitter.api.metrics.table import Shape
from skitter.client.events import Stats

Values = Mapping[str, float]
"""Numbers by the value of their label; by "" where there is none."""


class _Families(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    def collect(self) -> Iterator[Metric]:
        return iter(self._families)


def family(shape: Shape, values: Values) -> Metric:
    """Return a metric with its values."""
    labels = [shape.label] if shape.label else []
    made: CounterMetricFamily | GaugeMetricFamily
    if shape.is_counter:
        made = CounterMetricFamily(shape.name, shape.words, labels=labels)
    else:
        made = GaugeMetricFamily(shape.name, shape.words, labels=labels)
    for label, value in values.items():
        made.add_metric([label] if labels else [], value)
    return made


def metrics_text(families: Iterable[Metric]) -> bytes:
    """Return metrics as text."""
    return generate_latest(_Families(families))


async def found(standing: Standing, herald: Herald) -> list[Metric]:
    """Return every metric of the store and of what this process tells others."""
    stats = await standing.stats()
    totals = await standing.counters.totals()
    values = {**_counted(totals), **_stood(stats), **_told(herald)}
    values[table.JOBS] = {state: standing.states.get(state, 0) for state in table.STATES}
    values[table.STORE] = {"": 0.0 if standing.trouble else 1.0}
    return [family(shape, values[shape]) for shape in table.SHAPES if shape in values]


def _counted(totals: Mapping[str, int]) -> dict[Shape, Values]:
    kinds = {kind: totals.get(f"pages|kind={kind}", 0) for kind in table.KINDS}
    return {
        table.PAGES: {name: totals.get(name, 0) for name in table.OUTCOMES},
        table.KIND_PAGES: kinds,
        table.BODY_BYTES: {"": totals.get("bytes", 0)},
        table.MEDIA: {"": totals.get("media", 0)},
        table.ANSWERS: _named("status:", totals),
        table.WAITED: {"": totals.get("elapsed_ms", 0) / 1000},
        table.CALLS: _named("module:", totals),
    }


def _named(prefix: str, totals: Mapping[str, int]) -> Values:
    return {
        name.removeprefix(prefix): n
        for name, n in sorted(totals.items())
        if name.startswith(prefix)
    }


def _stood(stats: Stats) -> dict[Shape, Values]:
    return {
        table.SPEED: {"": stats.pages_per_second},
        table.ALARMS: {"": len(stats.alarms)},
        table.QUEUED: {"": stats.queued},
        table.LEASED: {"": stats.leased},
        table.NODES: {"": stats.nodes},
        table.WORKERS: {"": stats.workers},
    }


def _told(herald: Herald) -> dict[Shape, Values]:
    hub, deliveries = herald.hub, herald.deliveries
    return {
        table.LISTENERS: {"": max(0, hub.count - len(deliveries.served))},
        table.MESSAGES: {"": hub.sent},
        table.DROPPED: {"": hub.dropped},
        table.RECEIVERS: {"": len(deliveries.served)},
        table.DELIVERED: {"": deliveries.office.delivered},
        table.UNDELIVERED: {"": deliveries.office.failures},
    }
