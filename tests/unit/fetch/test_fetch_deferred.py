"""A package that is loaded in parts."""

import subprocess
import sys

import pytest


def _told(program: str) -> str:
    """Run a program in a fresh interpreter: what is imported here would be there already."""
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_fetcher_does_not_load_the_client() -> None:
    told = _told("import sys, skitter.fetch.http; print('aiohttp.client' in sys.modules)")
    assert told == "False"


@pytest.mark.parametrize(
    "use",
    [
        "import aiohttp; aiohttp.ClientSession",
        "from aiohttp import ClientSession",
        "from aiohttp import web; web.Application",
        "from aiohttp.http import SERVER_SOFTWARE",
        "import aiohttp.web; aiohttp.ClientTimeout",
        "import aiohttp; assert aiohttp.__version__[0].isdigit(); aiohttp.TCPConnector",
    ],
)
def test_whoever_asks_for_more_gets_the_whole_package(use: str) -> None:
    told = _told(
        f"import sys, skitter.fetch.http; {use}; import aiohttp; aiohttp.ClientSession;"
        "print(type(aiohttp).__name__, aiohttp.hdrs.HOST, hasattr(aiohttp, 'no_such_thing'))"
    )
    assert told == "module Host False"
