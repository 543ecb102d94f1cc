"""An engine with time to spare hears of what others queue."""

import asyncio
from typing import Any

import pytest

from skitter.crawl import doorbell as doorbell_module
from skitter.crawl.doorbell import Doorbell
from skitter.errors import StoreUnavailable


class Reader:
    """Answers when a test says so, and notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.answers: asyncio.Queue[int | Exception] = asyncio.Queue()
        self.was_asked = asyncio.Event()

    async def stirs(self, heard: int, wait_ms: int) -> int:
        assert 0 < wait_ms <= 5_000
        self.asked.append(heard)
        self.was_asked.set()
        answer = await self.answers.get()
        if isinstance(answer, Exception):
            raise answer
        return answer


class Bell:
    """A doorbell and what came of it."""

    def __init__(self) -> None:
        self.reader = Reader()
        self.rings = 0
        self.rang = asyncio.Event()
        reader: Any = self.reader
        self.door = Doorbell(reader, self._ring)

    def _ring(self) -> None:
        self.rings += 1
        self.rang.set()

    async def asked(self) -> None:
        await asyncio.wait_for(self.reader.was_asked.wait(), 30)
        self.reader.was_asked.clear()

    async def answered(self, answer: int | Exception) -> None:
        self.reader.answers.put_nowait(answer)
        assert self.door._asking is not None
        await asyncio.wait_for(asyncio.wait([self.door._asking]), 30)


@pytest.fixture
def bell(monkeypatch: pytest.MonkeyPatch) -> Bell:
    monkeypatch.setattr(doorbell_module, "PAUSE_S", 0.001)
    return Bell()


async def test_it_asks_once_however_often_somebody_listens(bell: Bell) -> None:
    for _ in range(3):
        bell.door.listen()
    await bell.asked()
    await bell.answered(7)
    assert (bell.reader.asked, bell.rings) == ([0], 1)
    await bell.door.close()


async def test_it_goes_on_from_what_it_has_heard_and_is_silent_when_nothing_is_new(
    bell: Bell,
) -> None:
    bell.door.listen()
    await bell.asked()
    await bell.answered(7)
    bell.door.listen()
    await bell.asked()
    await bell.answered(7)
    assert (bell.reader.asked, bell.rings) == ([0, 7], 1)
    await bell.door.close()


async def test_nobody_is_asked_before_somebody_listens_again(bell: Bell) -> None:
    bell.door.listen()
    await bell.asked()
    await bell.answered(1)
    await asyncio.sleep(0)
    assert bell.reader.asked == [0]
    await bell.door.close()


async def test_trouble_of_the_store_is_left_to_the_next_claim(bell: Bell) -> None:
    bell.door.listen()
    await bell.asked()
    await bell.answered(StoreUnavailable("gone"))
    assert bell.rings == 0
    bell.door.listen()
    await bell.asked()
    await bell.answered(2)
    assert bell.rings == 1
    await bell.door.close()


async def test_it_is_closed_while_it_waits(bell: Bell) -> None:
    bell.door.listen()
    await bell.asked()
    await asyncio.wait_for(bell.door.close(), 30)
    assert bell.rings == 0


async def test_it_may_be_closed_unused(bell: Bell) -> None:
    await bell.door.close()
