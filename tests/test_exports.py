"""What the package offers by name exists, and importing it does nothing else."""

import importlib
import pkgutil
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest

import skitter
from skitter.cli.main import main

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted(
    found.name
    for found in pkgutil.walk_packages(skitter.__path__, "skitter.")
    if not found.name.endswith("__main__")
)


def test_the_package_exports_its_version_and_the_clients_of_its_api() -> None:
    assert skitter.__all__ == ["AsyncClient", "Client", "__version__"]
    assert skitter.Client.__name__ == "Client"
    with pytest.raises(AttributeError, match="Clint"):
        getattr(skitter, "Clint")  # noqa: B009  the type checker knows it is not there


def test_importing_the_package_loads_no_client() -> None:
    script = "import skitter, sys; sys.exit('httpx' in sys.modules or 'pydantic' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_version_is_the_one_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert skitter.__version__ == project["version"] == version("skitter")


def test_the_command_is_the_command_line() -> None:
    [command] = entry_points(group="console_scripts", name="skitter")
    assert command.load() is main


@pytest.mark.parametrize("name", MODULES)
def test_every_name_a_module_lists_can_be_imported_from_it(name: str) -> None:
    module = importlib.import_module(name)
    for listed in getattr(module, "__all__", ()):
        assert hasattr(module, listed) or f"{name}.{listed}" in MODULES


def test_importing_everything_prints_nothing_and_starts_nothing() -> None:
    script = (
        "import importlib, sys, threading\n"
        "for name in sys.argv[1:]: importlib.import_module(name)\n"
        "assert threading.active_count() == 1, threading.enumerate()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, *MODULES],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_the_licence_is_apache_2_with_its_whole_text() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="ascii")
    for number in range(1, 10):
        assert f"\n   {number}. " in text
    assert "Version 2.0, January 2004" in text
    assert text.index("END OF TERMS AND CONDITIONS") < text.index("APPENDIX")
