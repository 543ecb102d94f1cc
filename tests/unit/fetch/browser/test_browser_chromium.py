import socket
from pathlib import Path
from unittest.mock import patch

import pytest

from skitter.errors import ConfigError
from skitter.fetch.browser import chromium
from skitter.fetch.browser.chromium import Nowhere, browser_environment, find_chromium


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_browser_of_the_system_is_found(tmp_path: Path) -> None:
    named = program(tmp_path / "bin" / "chromium")
    assert find_chromium({"PATH": str(named.parent)}) == named


def test_one_without_windows_goes_before_it(tmp_path: Path) -> None:
    program(tmp_path / "bin" / "chromium")
    bare = program(tmp_path / "bin" / "chromium-headless-shell")
    assert find_chromium({"PATH": str(bare.parent)}) == bare


def test_a_variable_goes_before_it(tmp_path: Path) -> None:
    program(tmp_path / "bin" / "chromium")
    own = program(tmp_path / "own" / "chrome")
    environ = {"PATH": str(tmp_path / "bin"), "SKITTER_CHROMIUM": str(own)}
    assert find_chromium(environ) == own


def test_a_variable_that_names_nothing_is_refused(tmp_path: Path) -> None:
    environ = {"SKITTER_CHROMIUM": str(tmp_path / "none")}
    with pytest.raises(ConfigError, match=r"SKITTER_CHROMIUM: .*none: no program; wanted the path"):
        find_chromium(environ)


def test_the_newest_one_that_was_downloaded_is_found(tmp_path: Path) -> None:
    program(tmp_path / "chromium-1100" / "chrome-linux" / "chrome")
    newest = program(tmp_path / "chromium-1200" / "chrome-linux64" / "chrome")
    environ = {"PATH": "", "PLAYWRIGHT_BROWSERS_PATH": str(tmp_path)}
    assert find_chromium(environ) == newest
    folder = tmp_path / "chromium_headless_shell-1100" / "chrome-headless-shell-linux64"
    bare = program(folder / "chrome-headless-shell")
    assert find_chromium(environ) == bare


def test_without_one_it_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no Chromium on this machine; wanted: apt install"):
        find_chromium({"PATH": str(tmp_path), "PLAYWRIGHT_BROWSERS_PATH": str(tmp_path)})


def test_without_playwright_it_says_what_to_install() -> None:
    with (
        patch.object(chromium, "find_spec", return_value=None),
        pytest.raises(ConfigError, match=r"pip install 'skitter\[render\]'"),
    ):
        find_chromium()


def test_the_browser_gets_no_secrets() -> None:
    environ = {"PATH": "/bin", "HOME": "/h", "SKITTER_TOKEN": "t", "AWS_SECRET_ACCESS_KEY": "s"}
    assert browser_environment("/own", environ) == {"PATH": "/bin", "HOME": "/own"}


def test_nobody_answers_nowhere_and_nobody_can_take_its_place() -> None:
    nowhere = Nowhere()
    try:
        port = int(nowhere.url.rpartition(":")[2])
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=30)
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port))
    finally:
        nowhere.close()
