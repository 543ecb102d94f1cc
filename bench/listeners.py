"""A thousand listeners and a hundred requests a second beside a crawl.

``python -m bench.listeners``: the same crawl runs twice, alone and with them, each on a service of
its own; the web that is crawled counts its pages. 1 is answered when anything went wrong, or when
the crawl with them was slower by more than a tenth. ``--short`` takes twenty seconds a crawl
instead of five minutes.
"""

import argparse
import asyncio
import json
import os
import re
import secrets
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import uvloop

from bench.endless_web import EndlessWeb, endless_web

LISTENERS = 1_000
RATE = 100
SECONDS, SHORT = 300.0, 20.0
WARM_S = 5.0
"""How long a crawl runs before anything is measured."""
HOSTS, DELAY_S = 40, 0.2
"""A crawl of two hundred pages a second: by its manners, not by what a machine can do."""
BAR = 0.9
JOB = "endless"


@dataclass(frozen=True, slots=True)
class Service:
    """A running ``skitter up``."""

    port: int
    token: str
    pid: int

    def cpu_s(self) -> dict[str, float]:
        """Return the seconds of processor that each of its processes has had."""
        found: dict[str, float] = {}
        for pid in family(self.pid):
            with suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                ticks = int(fields[11]) + int(fields[12])
                name = (
                    "service"
                    if "skitter.api" in words
                    else "worker"
                    if "node" in words
                    else "master"
                )
                found[name] = found.get(name, 0.0) + ticks / os.sysconf("SC_CLK_TCK")
        return found


def family(pid: int) -> list[int]:
    """Return a process and everything it has started."""
    found = [pid]
    for one in found:
        for children in Path(f"/proc/{one}/task").glob("*/children"):
            with suppress(OSError):
                found += [int(word) for word in children.read_text().split()]
    return found


@asynccontextmanager
async def service(folder: Path) -> AsyncIterator[Service]:
    """Run a service with one worker."""
    token = secrets.token_urlsafe(24)
    words = ["-m", "skitter", "up", "--port", "0", "--data", str(folder), "--workers", "1"]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *words,
        "--allow-private",
        env={**os.environ, "SKITTER_TOKEN": token},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    said = ""
    while (found := re.search(r"listening on http://127\.0\.0\.1:(\d+)", said)) is None:
        line = await process.stderr.readline()
        if not line:
            raise RuntimeError(f"the service did not start: {said}")
        said += line.decode()
    draining = asyncio.create_task(process.stderr.read())
    try:
        yield Service(int(found[1]), token, process.pid)
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        await process.wait()
        await draining


async def begin_crawl(up: Service, web: EndlessWeb) -> None:
    """Add the job over the API."""
    job = {"id": JOB, "kind": "site", "entries": web.entries(HOSTS), "polite": {"delay": DELAY_S}}
    headers = {"Authorization": f"Bearer {up.token}"}
    async with (
        aiohttp.ClientSession(f"http://127.0.0.1:{up.port}", headers=headers) as http,
        http.post("/v1/jobs", json=job) as answer,
    ):
        if answer.status >= 400:
            raise RuntimeError(await answer.text())


async def crowd(
    up: Service, web: EndlessWeb, given: argparse.Namespace
) -> asyncio.subprocess.Process:
    """Let everybody come; returns when they are there."""
    words = [
        "--port",
        up.port,
        "--job",
        JOB,
        "--page",
        web.entries(1)[0],
        "--seconds",
        given.seconds,
    ]
    words += ["--listeners", given.listeners, "--rate", given.rate]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bench.listeners_load",
        *map(str, words),
        env={**os.environ, "SKITTER_TOKEN": up.token},
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    if await process.stdout.readline() != b"ready\n":
        raise RuntimeError("the listeners did not come")
    return process


async def measured(web: EndlessWeb, given: argparse.Namespace, *, crowded: bool) -> dict[str, Any]:
    """Crawl for so long, with everybody there or alone."""
    with tempfile.TemporaryDirectory() as folder:
        async with service(Path(folder) / "state") as up:
            await begin_crawl(up, web)
            await asyncio.sleep(WARM_S)
            load = await crowd(up, web, given) if crowded else None
            pages, cpu = web.pages, up.cpu_s()
            await asyncio.sleep(given.seconds)
            speed = (web.pages - pages) / given.seconds
            used = {name: round(s - cpu.get(name, 0.0), 1) for name, s in up.cpu_s().items()}
            told = {} if load is None else json.loads((await load.communicate())[0])
    return {"pages_per_second": round(speed, 1), "cpu_s": used, "load": told}


async def run(given: argparse.Namespace) -> int:
    """Measure, tell, and judge."""
    async with endless_web() as web:
        alone = await measured(web, given, crowded=False)
        print("alone:  ", json.dumps(alone), flush=True)
        crowded = await measured(web, given, crowded=True)
        print("crowded:", json.dumps(crowded), flush=True)
    share = crowded["pages_per_second"] / alone["pages_per_second"]
    load = crowded["load"]
    is_well = share >= BAR and not load["errors"] and not load["gaps"]
    print(
        f"speed with {given.listeners} listeners and {given.rate} requests/s: {share:.1%}", end="; "
    )
    print("well" if is_well else f"errors {load['errors']}, gaps {load['gaps']}")
    return 0 if is_well else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="twenty seconds a crawl")
    parser.add_argument("--seconds", type=float, help="how long each crawl is measured")
    parser.add_argument("--listeners", type=int, default=LISTENERS)
    parser.add_argument("--rate", type=int, default=RATE, help="requests a second")
    given = parser.parse_args()
    given.seconds = given.seconds or (SHORT if given.short else SECONDS)
    return uvloop.run(run(given))


if __name__ == "__main__":
    sys.exit(main())
