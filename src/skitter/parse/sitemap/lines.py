"""Plain lists: one URL a line."""

from typing import Final

from skitter.parse.sitemap.collect import Collector

_HTTP: Final = ("http://", "https://")
_MAX_LINE_CHARS: Final = 16 * 1024


class LineReader:
    """Reads one plain list; what is no absolute http(s) URL is passed over."""

    __slots__ = ("_collector", "_is_long", "_rest")

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._rest = ""
        self._is_long = False

    def read(self, text: str, *, final: bool) -> None:
        """Read the next text of the list."""
        lines = (self._rest + text).replace("\r", "\n").split("\n")
        self._rest = "" if final else lines.pop()
        for line in lines:
            if self._is_long:
                self._is_long = False
            else:
                self._line(line)
        if len(self._rest) > _MAX_LINE_CHARS:
            if not self._is_long:
                self._line(self._rest)
            self._is_long = True
            self._rest = ""

    def _line(self, line: str) -> None:
        # Some lists have more columns.
        url = line.strip().partition("\t")[0]
        if url[:8].lower().startswith(_HTTP):
            self._collector.page(url)
