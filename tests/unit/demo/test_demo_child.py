import json
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from skitter.demo.build import demo_web
from skitter.demo.child import DemoProcess
from skitter.errors import ConfigError


def get(port: int, host: str) -> bytes:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/", headers={"Host": host})
    with urllib.request.urlopen(request) as response:
        body: bytes = response.read()
        return body


def test_the_web_runs_in_a_process_of_its_own_and_ends_with_the_block(tmp_path: Path) -> None:
    with DemoProcess(log=tmp_path / "hits") as demo:
        port = demo.web.port
        assert b"Demo Harbour" in get(port, demo.web.host_key("www"))
        assert [(hit.host, hit.path) for hit in demo.hits()] == [(f"www.demo.test:{port}", "/")]
        assert "127.0.0.1 news.demo.test\n" in demo.hosts
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
        pass


def test_without_a_log_there_are_no_hits() -> None:
    with DemoProcess() as demo:
        get(demo.web.port, demo.web.host_key("www"))
        assert demo.hits() == []


def test_the_server_ends_when_its_parent_is_gone() -> None:
    command = [sys.executable, "-m", "skitter.demo", "--with-parent"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["port"] > 0
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=60) == 0


def test_a_port_in_use_ends_it_with_one_line_and_code_2(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "skitter.demo", "--port", port]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        with pytest.raises(ConfigError, match="did not start"), DemoProcess(port=int(port)):
            pass
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert len(ended.stderr.splitlines()) == 1
    assert port in ended.stderr


def test_a_hosts_file_is_written_where_one_is_asked_for(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    command = [sys.executable, "-m", "skitter.demo", "--with-parent", "--hosts-out", str(hosts)]
    command += ["--domain", "demo.localhost"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        facts = json.loads(process.stdout.readline())
        assert hosts.read_text() == facts["hosts"]
        assert "127.0.0.1 shop.demo.localhost\n" in facts["hosts"]
        process.terminate()
        assert process.wait(timeout=60) == 0


def printed(*flags: str, lines: int) -> list[str]:
    command = [sys.executable, "-m", "skitter.demo", "--with-parent", *flags]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        shown = [process.stdout.readline() for _ in range(lines)]
        process.terminate()
        assert process.wait(timeout=60) == 0
    return shown


def test_the_entries_of_all_sites_are_printed_where_they_are_asked_for() -> None:
    sites = demo_web().sites
    facts, *lines = printed("--print-entries", lines=1 + len(sites))
    port = json.loads(facts)["port"]
    assert f"maze\thttp://maze.demo.test:{port}/\n" in lines
    assert [line.split("\t")[0] for line in lines] == list(sites)


@pytest.mark.parametrize("with_traps", [True, False])
def test_the_home_page_leads_to_the_traps_only_where_they_are_asked_for(with_traps: bool) -> None:
    with DemoProcess(with_traps=with_traps) as demo:
        home = get(demo.web.port, demo.web.host_key("www")).decode()
        assert (demo.web.entry_of("maze") in home) is with_traps
        assert "127.0.0.1 maze.demo.test\n" in demo.hosts
        assert b"hedge garden" in get(demo.web.port, demo.web.host_key("maze"))
