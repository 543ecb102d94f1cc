"""Pages fetched for people, and rules tried on them: few at a time, the rest is told to wait."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from skitter.api.errors import ApiError
from skitter.api.job_wishes import private_kind, refuse_files
from skitter.client.pages import Fetched, FetchWish, TrialAnswer, TrialWish, TriedLink
from skitter.errors import FetchError
from skitter.fetch.base import Response
from skitter.job.entry import entry_url
from skitter.job.spec import Job, check_job
from skitter.parse.document import parse_page
from skitter.wiring.direct import Direct, Visited
from skitter.wiring.service import Service
from skitter.wiring.trial import Trial, try_page

AT_ONCE = 16
"""Errands in hand."""
MOST_BODY_BYTES = 2 << 20
"""Of a page that is shown."""
RETRY_S = 2

Content = tuple[bytes, str | None]
"""The bytes of a page, and its media type."""


class Errands:
    """Runs errands for the people of one service."""

    def __init__(self, service: Service) -> None:
        options = service.options
        self._options = options
        hosts = None if options.hosts is None else Path(options.hosts)
        self._direct = Direct(service.store, allow_private=options.allow_private, hosts=hosts)
        self._in_hand = 0
        self._parsing = asyncio.Semaphore(2)

    async def fetch(self, wish: FetchWish) -> Fetched:
        """Fetch one page."""
        url = self._checked(wish.url)
        async with self._room():
            visited = await self._visit(url, Job(kind="resolve", entries=(url,)))  # type: ignore[arg-type]
            response = visited.response
            read = partial(parse_page, response.body, response.read_as, response.url)
            async with self._parsing:
                page = await asyncio.to_thread(read)
        found = _told(url, visited)
        return found.model_copy(
            update={
                "title": page.title,
                "description": page.description,
                "image": page.image,
                "language": page.language,
                "body": _text(response, page.encoding) if wish.body else None,
            }
        )

    async def try_rules(self, wish: TrialWish) -> TrialAnswer:
        """Try the rules of a job on a page that is fetched, or given."""
        refuse_files(wish.job)
        job = check_job({"entries": [wish.url], **wish.job}, "job")
        async with self._room():
            url, content = await self._content(wish, job)
            async with self._parsing:
                trial = await asyncio.to_thread(try_page, job, url, content, wish.rule)
        return _answer(trial)

    async def _content(self, wish: TrialWish, job: Job) -> tuple[str, Content]:
        if wish.html is not None:
            # Half of a character that takes two is no text.
            text = wish.html.encode("utf-8", "replace")
            return entry_url(wish.url), (text, "text/html; charset=utf-8")
        return await self._page(self._checked(wish.url), job)

    async def _page(self, url: str, job: Job) -> tuple[str, Content]:
        response = (await self._visit(url, job)).response
        if response.status != 200:
            raise _failed(f"{response.url}: status {response.status}; wanted a page that is there")
        return response.url, (response.body, response.read_as)

    async def _visit(self, url: str, job: Job) -> Visited:
        try:
            return await self._direct.fetch(url, job)
        except FetchError as error:
            raise _failed(f"{error.url}: {error.why}") from error

    def _checked(self, url: str) -> str:
        found = entry_url(url)
        kind = None if self._options.allow_private else private_kind(found)
        if kind is not None:
            raise ApiError(422, f"url: {kind}; wanted one that all can reach", "url")
        return found

    @asynccontextmanager
    async def _room(self) -> AsyncIterator[None]:
        if self._in_hand >= AT_ONCE:
            later = {"Retry-After": str(RETRY_S)}
            raise ApiError(429, "too many pages are being fetched; ask again", headers=later)
        self._in_hand += 1
        try:
            yield
        finally:
            self._in_hand -= 1


def _failed(why: str) -> ApiError:
    return ApiError(424, why, "url")


def _told(url: str, visited: Visited) -> Fetched:
    response = visited.response
    return Fetched(
        url=url,
        final_url=response.url,
        redirects=list(visited.redirects),
        status=response.status,
        content_type=response.content_type,
        headers=dict(response.headers),
        bytes=len(response.body),
        elapsed_ms=response.elapsed_ms,
    )


def _text(response: Response, encoding: str) -> str:
    body = response.body[:MOST_BODY_BYTES]
    try:
        return body.decode(encoding, "replace")
    except LookupError:
        return body.decode("utf-8", "replace")


def _answer(trial: Trial) -> TrialAnswer:
    listed = trial.listed
    items: list[dict[str, Any]] = [
        {"url": one.url, "fields": one.picked.fields} for one in (listed.items if listed else ())
    ]
    article: Mapping[str, Any] = dataclasses.asdict(trial.article)
    return TrialAnswer(
        url=trial.url,
        rule=trial.rule,
        page_class=trial.page_class,
        looks_like=trial.looks_like,
        fields=dict(trial.picked.fields),
        missing=trial.missing,
        items=items,
        next=[] if listed is None else list(listed.next_urls),
        is_list=listed is not None,
        problems=list(trial.picked.problems if listed is None else listed.problems),
        links=[TriedLink(**dataclasses.asdict(link)) for link in trial.links],
        article=dict(article),
    )
