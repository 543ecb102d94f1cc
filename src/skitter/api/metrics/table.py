"""Every metric there is: its name, what it tells, and by what it is told apart.

Names are ``skitter_<component>_<noun>_<unit>``. Labels come from sets that are closed: outcomes,
status codes, kinds, modules, states; never a URL, a host or a job, of which there is no end.
"""

from typing import Final, NamedTuple

from skitter.job.spec import Kind

OUTCOMES: Final = ("ok", "failed", "refused")
STATES: Final = ("running", "waiting", "paused", "finished", "cancelled")
KINDS: Final = tuple(kind.value for kind in Kind)


class Shape(NamedTuple):
    """A metric before it has a value."""

    name: str
    words: str
    label: str = ""

    @property
    def is_counter(self) -> bool:
        """Whether it only grows."""
        return self.name.endswith("_total")


PAGES: Final = Shape(
    "skitter_crawl_pages_total", "Visits that ended, by what came of them", "outcome"
)
KIND_PAGES: Final = Shape(
    "skitter_crawl_kind_pages_total", "Visits that ended, by kind of job", "kind"
)
BODY_BYTES: Final = Shape("skitter_crawl_body_bytes_total", "Bytes of page bodies, decompressed")
MEDIA: Final = Shape(
    "skitter_crawl_media_files_total", "Pictures and other media that were fetched"
)
SPEED: Final = Shape("skitter_crawl_speed_pages_per_second", "Pages a second, over the last 20 s")
JOBS: Final = Shape("skitter_crawl_jobs_count", "Jobs in the store", "state")
ALARMS: Final = Shape("skitter_crawl_alarms_count", "Things somebody should look at")
ANSWERS: Final = Shape(
    "skitter_fetch_answers_total", "Answers of web servers, by status code", "status"
)
WAITED: Final = Shape("skitter_fetch_waited_seconds_total", "Time spent on requests, all together")
CALLS: Final = Shape(
    "skitter_modules_calls_total", "What each part of the program has done", "module"
)
QUEUED: Final = Shape("skitter_frontier_queued_urls", "URLs that wait")
LEASED: Final = Shape("skitter_frontier_leased_urls", "URLs that are being fetched")
STORE: Final = Shape("skitter_frontier_store_up", "1 while the store answers")
NODES: Final = Shape("skitter_cluster_nodes_count", "Machines")
WORKERS: Final = Shape("skitter_cluster_workers_count", "Worker processes at work")
LISTENERS: Final = Shape("skitter_events_listeners_count", "Who listens to events in this process")
MESSAGES: Final = Shape("skitter_events_messages_total", "Messages to those who listen")
DROPPED: Final = Shape(
    "skitter_events_dropped_total", "Events left out of them, because too many came"
)
RECEIVERS: Final = Shape(
    "skitter_webhooks_receivers_count", "Webhooks that this process delivers to"
)
DELIVERED: Final = Shape("skitter_webhooks_events_total", "Events that were delivered by webhook")
UNDELIVERED: Final = Shape(
    "skitter_webhooks_failures_total", "Messages to webhooks that did not arrive"
)
REQUESTS: Final = Shape(
    "skitter_api_requests_total", "Requests to this process, by status code", "status"
)
REQUEST_SECONDS: Final = Shape("skitter_api_request_seconds", "How long requests took")

SHAPES: Final = tuple(value for value in tuple(globals().values()) if isinstance(value, Shape))
