"""How fast one host is asked, and how it is left alone when it asks for that.

Pure state: times come in as milliseconds, randomness as a generator. The delay is the longest of
three: the job's setting, the site's crawl-delay (capped) and what was learned. The learned delay
grows with latency, throttling and faults; only a good page lets it fall, because an error page
often comes fast from a server in trouble. It never goes below the job's setting.
"""

import random
import struct
from dataclasses import dataclass
from typing import NamedTuple, Self

from skitter.politeness.retry_after import parse_retry_after

_VERSION = 1
_STATE = struct.Struct("<BIHqq")

_THROTTLE_STEP_MS = 1000
"""Least learned delay after a 429 or 503."""
_FAULT_STEP_MS = 500
"""Least learned delay after a timeout."""
_NEGLIGIBLE_MS = 50
_MAX_DOUBLINGS = 40
_MAX_COUNT = 0xFFFF
_MAX_LEARNED = 0xFFFF_FFFF

BY_JOB = "the job's delay"
BY_CRAWL_DELAY = "the site's crawl-delay"
BY_LEARNED = "the delay learned from the host's answers"
NO_DELAY = "no delay"


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceOptions:
    """The pace a job asks for and the bounds of what is learned."""

    delay_s: float = 1.0
    """Pause between two requests to a host; 0 asks for none, and latency then teaches nothing."""
    per_host: int = 1
    """Requests to a host under way at once; latency is shared out among them."""
    max_crawl_delay_s: float = 30.0
    """A longer crawl-delay in robots.txt counts as this."""
    adaptive: bool = True
    """Learn from latency, throttling and faults."""
    adaptive_factor: float = 1.0
    """Learned delay as a multiple of latency."""
    max_learned_delay_s: float = 30.0
    backoff_base_s: float = 60.0
    """Rest after the first 429 or 503 without Retry-After; doubles with each further one."""
    backoff_cap_s: float = 86_400.0
    """The longest rest. A Retry-After beyond it is not waited for: that URL is given up."""
    jitter: float = 0.1
    """Up to this share is added to a rest at random."""
    forgive_s: float = 1800.0
    """After this long without throttling or faults all is forgotten."""


class Verdict(NamedTuple):
    """What follows from one answer."""

    next_allowed_ms: int
    """No request to the host before that time."""
    delay_ms: int
    """The pause in force between requests."""
    retry_at_ms: int | None
    """When to try this URL again; None when its answer stands or it is given up."""
    reason: str
    """For a person: what made the host wait."""
    give_up: bool = False
    """The URL was put off for longer than anyone waits."""
    floor_ms: int = 0
    """Of the pause, what does not come from the setting: it holds whatever is set."""
    held_until_ms: int = 0
    """Up to when a back-off holds, whatever is set."""


class HostPace:
    """What one host's answers taught. One per host; the options may be replaced at any time."""

    __slots__ = (
        "_blocked_until_ms",
        "_learned_ms",
        "_rng",
        "_throttles",
        "_trouble_at_ms",
        "options",
    )

    def __init__(self, options: PaceOptions, rng: random.Random) -> None:
        self.options = options
        self._rng = rng
        self._learned_ms = 0
        self._throttles = 0
        self._trouble_at_ms = 0
        self._blocked_until_ms = 0

    @property
    def throttles(self) -> int:
        """Throttling answers in a row that named no time to wait for."""
        return self._throttles

    @property
    def learned_ms(self) -> int:
        """The learned delay; 0 when nothing above the job's setting was learned."""
        return self._learned_ms

    def effective_delay_ms(self, crawl_delay_s: float | None = None) -> int:
        """Return the pause in force: the longest of setting, capped crawl-delay and learned."""
        return self._delay(crawl_delay_s)[0]

    def floor_ms(self, crawl_delay_s: float | None = None) -> int:
        """Return the pause that holds whatever is set: capped crawl-delay and learned."""
        asked_s = min(crawl_delay_s or 0.0, self.options.max_crawl_delay_s)
        return max(round(asked_s * 1000), self._learned_ms if self.options.adaptive else 0)

    def on_response(
        self,
        status: int,
        latency_ms: int,
        retry_after: str | None,
        now_ms: int,
        *,
        crawl_delay_s: float | None = None,
    ) -> Verdict:
        """Take note of an answer that arrived at ``now_ms``."""
        self._forgive(now_ms)
        if status in {429, 503}:
            return self._throttled(status, retry_after, now_ms, crawl_delay_s)
        if status < 500 and now_ms >= self._blocked_until_ms:
            self._throttles = 0
        self._learn(latency_ms, good=200 <= status < 300)
        return self._go_on(now_ms, crawl_delay_s)

    def on_fault(self, now_ms: int, *, crawl_delay_s: float | None = None) -> Verdict:
        """Take note of a timeout or a fault of the host; when to retry is the caller's policy."""
        self._forgive(now_ms)
        self._trouble_at_ms = now_ms
        self._slow_down(_FAULT_STEP_MS)
        return self._go_on(now_ms, crawl_delay_s)

    def encode(self) -> bytes:
        """Return the state for the store."""
        return _STATE.pack(
            _VERSION,
            min(self._learned_ms, _MAX_LEARNED),
            min(self._throttles, _MAX_COUNT),
            self._trouble_at_ms,
            self._blocked_until_ms,
        )

    @classmethod
    def decode(cls, data: bytes, options: PaceOptions, rng: random.Random) -> Self:
        """Read the stored state; what is damaged or of another version gives a fresh start."""
        pace = cls(options, rng)
        if len(data) == _STATE.size and data[0] == _VERSION:
            _, learned, throttles, trouble, blocked = _STATE.unpack(data)
            pace._learned_ms, pace._throttles = learned, throttles
            pace._trouble_at_ms, pace._blocked_until_ms = trouble, blocked
        return pace

    def _delay(self, crawl_delay_s: float | None) -> tuple[int, str]:
        options = self.options
        delay = round(options.delay_s * 1000)
        reason = BY_JOB if delay else NO_DELAY
        if crawl_delay_s is not None:
            asked = round(min(crawl_delay_s, options.max_crawl_delay_s) * 1000)
            if asked > delay:
                delay, reason = asked, BY_CRAWL_DELAY
        if options.adaptive and self._learned_ms > delay:
            delay, reason = self._learned_ms, BY_LEARNED
        return delay, reason

    def _go_on(self, now_ms: int, crawl_delay_s: float | None) -> Verdict:
        delay, reason = self._delay(crawl_delay_s)
        # An answer to a request sent before the host asked for rest does not end the rest.
        return Verdict(
            max(now_ms + delay, self._blocked_until_ms),
            delay,
            None,
            reason,
            floor_ms=self.floor_ms(crawl_delay_s),
            held_until_ms=self._blocked_until_ms,
        )

    def _throttled(
        self, status: int, retry_after: str | None, now_ms: int, crawl_delay_s: float | None
    ) -> Verdict:
        self._trouble_at_ms = now_ms
        asked = parse_retry_after(retry_after, now_ms)
        give_up = asked is not None and asked > self.options.backoff_cap_s * 1000
        # Answers that arrive during the rest were asked for before it: one incident, counted once.
        if now_ms >= self._blocked_until_ms:
            self._slow_down(_THROTTLE_STEP_MS)
            # A site that names its time is waited for that long; only silence makes rests double.
            if asked is None or give_up:
                self._throttles += 1
        rest = self._backoff_ms() if asked is None or give_up else asked
        delay, _ = self._delay(crawl_delay_s)
        until = max(self._blocked_until_ms, now_ms + max(rest, delay))
        self._blocked_until_ms = until
        return Verdict(
            until,
            delay,
            None if give_up else until,
            _why(status, asked, until - now_ms, give_up=give_up),
            give_up,
            self.floor_ms(crawl_delay_s),
            until,
        )

    def _backoff_ms(self) -> int:
        options = self.options
        doublings = min(max(self._throttles - 1, 0), _MAX_DOUBLINGS)
        rest_s = options.backoff_base_s * 2.0**doublings * (1 + options.jitter * self._rng.random())
        return round(min(options.backoff_cap_s, rest_s) * 1000)

    def _learn(self, latency_ms: int, *, good: bool) -> None:
        options = self.options
        if not options.adaptive:
            return
        target = 0.0
        if options.delay_s > 0:
            target = options.adaptive_factor * latency_ms / options.per_host
            target = min(target, options.max_learned_delay_s * 1000)
        setting = options.delay_s * 1000
        learned = max(float(self._learned_ms), setting)
        if target > learned:
            learned = (learned + target) / 2
        elif good:
            # Falling is slower than rising, so that a host at its limit is not pushed over it
            # again at once.
            learned -= (learned - max(target, setting)) / 4
        else:
            return
        self._learned_ms = round(learned) if learned > setting + _NEGLIGIBLE_MS else 0

    def _slow_down(self, step_ms: int) -> None:
        if not self.options.adaptive:
            return
        delay = max(self._learned_ms, round(self.options.delay_s * 1000))
        bound = round(self.options.max_learned_delay_s * 1000)
        self._learned_ms = min(bound, max(2 * delay, step_ms))

    def _forgive(self, now_ms: int) -> None:
        if not self._trouble_at_ms:
            return
        # The quiet counts from the end of a rest: nobody asked during it.
        quiet_ms = now_ms - max(self._trouble_at_ms, self._blocked_until_ms)
        if quiet_ms >= self.options.forgive_s * 1000:
            self._learned_ms = self._throttles = self._trouble_at_ms = 0


def _why(status: int, asked: int | None, rest_ms: int, *, give_up: bool) -> str:
    rest = f"the host rests for {rest_ms / 1000:.0f} s"
    if give_up and asked is not None:
        return f"{status} with Retry-After of {asked / 1000:.0f} s, too long: URL given up, {rest}"
    if asked is None:
        return f"{status} without a usable Retry-After: {rest}"
    return f"{status} with Retry-After of {asked / 1000:.0f} s: {rest}"
