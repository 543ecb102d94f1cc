"""What tests in a browser share; it is loaded for all tests, so it loads nothing itself.

Nothing outlives a file of tests: while a browser is there no other test can have a loop.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from browsing import Service, Visitor
    from playwright.sync_api import Browser

    from skitter.demo.child import DemoProcess


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    from browsing import chromium

    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def demo_web() -> Iterator["DemoProcess"]:
    from skitter.demo.child import DemoProcess

    with DemoProcess() as started:
        yield started


@pytest.fixture(scope="module")
def service(
    tmp_path_factory: pytest.TempPathFactory, demo_web: "DemoProcess"
) -> Iterator["Service"]:
    from browsing import start_service

    with start_service(tmp_path_factory.mktemp("service"), demo_web.hosts) as started:
        yield started


@pytest.fixture
def visit(
    browser: "Browser", service: "Service", tmp_path: Path
) -> Iterator[Callable[..., "Visitor"]]:
    """Return what opens pages as somebody with a role; all must have been well at the end."""
    from browsing import Visitor

    with ExitStack() as stack:

        def start(role: str = "admin", **given: object) -> "Visitor":
            return stack.enter_context(Visitor(browser, service, role, tmp_path, **given))

        yield start
