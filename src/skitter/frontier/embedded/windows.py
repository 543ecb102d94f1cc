"""Rate windows of the embedded store: logs in memory, each grant a row on disk.

Beside its grants a log has a row that says for how long they are kept: who is first to ask after a
restart may know the window by a shorter span than others.

A row survives the process, so a crawl that is killed and started again keeps its rates. Grants
are not synced for their own sake: a power cut takes longer than most windows.
"""

from collections import Counter
from collections.abc import Sequence
from struct import Struct
from typing import Final

from skitter.frontier.embedded.change import Change
from skitter.frontier.embedded.core import Core
from skitter.frontier.embedded.layout import u32, u64
from skitter.frontier.limits import Keep, Permit, SlidingLog, Window, Wish

ROW: Final = b"window:"
"""Domain, name and ms of a grant; how many there were in that millisecond."""
KEEP_ROW: Final = b"window-keep:"
"""Domain and name; the span in ms, and the ms until which a shorter one does not change it."""
SWEEP_ABOVE: Final = 1_000
"""Logs beyond which those nobody asks for are looked for and forgotten."""
LONGEST_MS: Final = 2 * 24 * 3600 * 1000
"""A grant older than this is in no window."""

_Key = tuple[str, str]
_keep = Struct(">QQ")


class Windows:
    """The logs of all windows, by domain and name."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._logs: dict[_Key, SlidingLog] = {}
        self._sweep_above = SWEEP_ABOVE

    def load(self) -> None:
        """Read the grants of before."""
        now_ms = self._core.now_ms()
        old: list[bytes] = []
        for row, count in self._core.rocks.scan_meta(ROW):
            at_ms = u64.unpack(row[-8:])[0]
            if at_ms < now_ms - LONGEST_MS:
                old.append(row)
                continue
            log = self._logs.setdefault(_key(row[len(ROW) : -9]), SlidingLog())
            log.times.extend([min(at_ms, now_ms)] * u32.unpack(count)[0])
        for row, value in self._core.rocks.scan_meta(KEEP_ROW):
            key, (span_ms, until_ms) = _key(row[len(KEEP_ROW) :]), _keep.unpack(value)
            if key not in self._logs and until_ms <= now_ms:
                old.append(row)
                continue
            # A clock that was set back does not make it last for longer.
            keep = Keep(span_ms, min(until_ms, now_ms + 2 * span_ms))
            self._logs.setdefault(key, SlidingLog()).keep = keep
        self._tidy(old, now_ms)

    def _tidy(self, old: Sequence[bytes], now_ms: int) -> None:
        """Delete rows, and add those that an earlier release did not write."""
        unsaid = [key for key, log in self._logs.items() if not log.keep.span_ms]
        if not old and not unsaid:
            return
        change = self._core.change()
        for row in old:
            change.delete_meta(row)
        for key in unsaid:
            # Somebody may ask by any span.
            self._logs[key].keep = keep = Keep(LONGEST_MS, now_ms + LONGEST_MS)
            change.put_meta(_keep_row(key), _keep.pack(*keep))
        self._core.commit(change)

    def permit(self, wanted: Sequence[Wish]) -> list[Permit]:
        """Grant what the windows allow, in the order of the wishes."""
        step = _Step(self._core.now_ms(), self._logs, self._core.change())
        permits = [step.permit(wish) for wish in wanted]
        step.write()
        self._core.commit(step.change)
        if len(self._logs) > self._sweep_above:
            self._sweep()
        return permits

    def _sweep(self) -> None:
        now_ms = self._core.now_ms()
        change = self._core.change()
        for key, log in list(self._logs.items()):
            for at_ms in log.trim(now_ms):
                change.delete_meta(_row(key, at_ms))
            if not log.times and now_ms >= log.keep.until_ms:
                change.delete_meta(_keep_row(key))
                del self._logs[key]
        self._core.commit(change)
        self._sweep_above = max(SWEEP_ABOVE, 2 * len(self._logs))


class _Step:
    """One call: what it grants, and how the rows change by it."""

    def __init__(self, now_ms: int, logs: dict[_Key, SlidingLog], change: Change) -> None:
        self._now_ms = now_ms
        self._logs = logs
        self.change = change
        self._refused: Counter[_Key] = Counter()
        self._touched: dict[_Key, set[int]] = {}
        self._kept_anew: set[_Key] = set()

    def permit(self, wish: Wish) -> Permit:
        now_ms = self._now_ms
        keys = [(wish.domain, window.name) for window in wish.windows]
        logs = [self._log(key, window) for key, window in zip(keys, wish.windows, strict=True)]
        if wish.unused_ms:
            for key, log in zip(keys, logs, strict=True):
                if log.take_back(wish.unused_ms):
                    self._touched[key].add(wish.unused_ms)
        asked = list(zip(keys, logs, wish.windows, strict=True))
        if any(log.opens_ms(window, now_ms) for _, log, window in asked):
            # Those who are refused together come back one after the other.
            opens = max(log.opens_ms(window, now_ms, self._refused[k]) for k, log, window in asked)
            self._refused.update(keys)
            return Permit(granted=False, at_ms=opens)
        for key, log in zip(keys, logs, strict=True):
            log.times.append(now_ms)
            self._touched[key].add(now_ms)
        return Permit(granted=True, at_ms=now_ms)

    def _log(self, key: _Key, window: Window) -> SlidingLog:
        log = self._logs.setdefault(key, SlidingLog())
        before = log.keep
        gone = log.trim(self._now_ms, window.span_ms)
        if log.keep != before:
            self._kept_anew.add(key)
        self._touched.setdefault(key, set()).update(gone)
        return log

    def write(self) -> None:
        """Plan the rows as the logs are now; one row holds all grants of a millisecond."""
        for key in self._kept_anew:
            self.change.put_meta(_keep_row(key), _keep.pack(*self._logs[key].keep))
        for key, moments in self._touched.items():
            times = self._logs[key].times
            for at_ms in moments:
                count = times.count(at_ms)
                if count:
                    self.change.put_meta(_row(key, at_ms), u32.pack(count))
                else:
                    self.change.delete_meta(_row(key, at_ms))


def _key(text: bytes) -> _Key:
    domain, _, name = text.decode().partition("\0")
    return domain, name


def _keep_row(key: _Key) -> bytes:
    return KEEP_ROW + "\0".join(key).encode()


def _row(key: _Key, at_ms: int) -> bytes:
    return ROW + "\0".join(key).encode() + b"\0" + u64.pack(at_ms)
