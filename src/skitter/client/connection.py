"""What both clients share: how requests are made, and how long is waited for an answer."""

import json
from dataclasses import dataclass, field
from urllib.parse import urlencode

import httpx

from skitter.client.answers import Patience
from skitter.client.calls.base import Answer, Call
from skitter.errors import ConfigError

CONNECT_S = 5.0
QUIET_S = 60.0
"""A stream of events in which nothing came for so long is taken for broken; services say something
more often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Where a service is, and who asks."""

    url: str
    token: str | None = field(default=None, repr=False)
    timeout: float = 30.0
    patience: Patience = field(default_factory=Patience)

    def __post_init__(self) -> None:
        parsed = _parsed(self.url)
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise ConfigError(f"{self.url!r}: wanted the URL of a service, as http://HOST:8440")

    def headers(self) -> dict[str, str]:
        """Return what every request carries."""
        said = {"Accept": "application/json"}
        return said if self.token is None else {**said, "Authorization": f"Bearer {self.token}"}

    def request(self, call: Call[Answer]) -> httpx.Request:
        """Return a call as a request."""
        timeout = httpx.Timeout(self.timeout + call.wait_s, connect=min(CONNECT_S, self.timeout))
        return self._request(call, timeout)

    def listening(self, call: Call[None], last_id: str | None) -> httpx.Request:
        """Return a call that listens to events, after the last one that was heard."""
        request = self._request(call, httpx.Timeout(self.timeout, read=QUIET_S))
        if last_id is not None:
            request.headers["Last-Event-ID"] = last_id
        return request

    def _request(self, call: Call[Answer], timeout: httpx.Timeout) -> httpx.Request:
        headers = self.headers() | dict(call.headers)
        content = None
        if call.body is not None:
            content = json.dumps(call.body, ensure_ascii=False).encode()
            headers["Content-Type"] = "application/json"
        # Joined by hand: what is escaped in a path has to stay so.
        url = httpx.URL(self.url.rstrip("/") + call.path)
        if query := call.query():
            url = url.copy_with(query=urlencode(query).encode())
        extensions = {"timeout": timeout.as_dict()}
        return httpx.Request(
            call.method, url, headers=headers, content=content, extensions=extensions
        )


def _parsed(url: str) -> httpx.URL:
    try:
        return httpx.URL(url)
    except (httpx.InvalidURL, TypeError) as error:
        raise ConfigError(f"{url!r}: {error}; wanted the URL of a service") from error
