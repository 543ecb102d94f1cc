"""Which place a command speaks to, and with which token."""

from collections.abc import Callable
from pathlib import Path

import pytest

from skitter.cli.place import Flags, named_place, place_of_job, place_of_jobs, place_of_nodes
from skitter.cli.report import exit_code
from skitter.errors import ApiAway, ApiError, ConfigError
from skitter.wiring.look import Where

API = "http://10.0.0.5:8440"
HERE = "http://127.0.0.1:8440"
Place = Callable[[Flags], Where]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("API", "TOKEN", "STORE", "DATA"):
        monkeypatch.delenv(f"SKITTER_{name}", raising=False)
    return tmp_path


def master(folder: Path, token: str = "kept") -> Path:
    folder.mkdir(parents=True)
    (folder / "token").write_text(f"{token}\n")
    return folder


@pytest.mark.parametrize(
    "place",
    [
        named_place,
        place_of_nodes,
        lambda flags: place_of_job(None, flags),
        lambda flags: place_of_jobs(None, flags),
    ],
)
class TestEveryCommand:
    def test_speaks_to_the_service_that_a_flag_names(self, place: Place) -> None:
        assert place(Flags(api=API, token="t")) == Where(api=API, token="t")

    def test_speaks_to_that_of_the_environment_unless_a_flag_names_a_place(
        self, place: Place, here: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SKITTER_API", API)
        monkeypatch.setenv("SKITTER_TOKEN", "t")
        assert place(Flags()) == Where(api=API, token="t")
        data = master(here / "state")
        assert place(Flags(data=data)).data == data
        assert place(Flags(store="redis://h")).store == "redis://h"

    def test_speaks_to_that_of_the_configuration_file(self, place: Place, here: Path) -> None:
        (here / "skitter.toml").write_text(f'api = "{API}"\ntoken = "t"\n')
        assert place(Flags()) == Where(api=API, token="t")

    def test_wants_one_place(self, place: Place, here: Path) -> None:
        with pytest.raises(ConfigError, match="--data and --api: wanted one of them"):
            place(Flags(data=here, api=API))
        with pytest.raises(ConfigError, match="--store and --api: wanted one of them"):
            place(Flags(store="redis://h", api=API))

    def test_says_what_to_give_when_there_is_nothing(self, place: Place) -> None:
        with pytest.raises(ConfigError, match="--api URL") as caught:
            place(Flags())
        assert "--data DIR" in str(caught.value)
        assert "--store URL" in str(caught.value)


def test_a_service_of_this_machine_is_shown_the_token_it_left_here(here: Path) -> None:
    master(here / ".skitter" / "up")
    for url in (HERE, "http://localhost:1", "http://[::1]:8440"):
        assert place_of_jobs(None, Flags(api=url)).token == "kept"
    assert place_of_jobs(None, Flags(api=HERE, token="said")).token == "said"


def test_the_token_of_the_directory_that_is_set_is_taken(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKITTER_DATA", str(master(here / "state", "other")))
    assert place_of_jobs(None, Flags(api=HERE)).token == "other"


def test_a_service_elsewhere_is_never_shown_a_token_of_this_machine(here: Path) -> None:
    master(here / ".skitter" / "up")
    for url in (API, "http://localhost.example.com", "http://127.0.0.1.example.com/", "nonsense"):
        assert place_of_jobs(None, Flags(api=url)).token is None


def test_a_token_is_shown_nowhere() -> None:
    where = place_of_jobs(None, Flags(api=API, token="hush"))
    assert "hush" not in f"{where} {where!r}"
    assert str(where) == f"--api {API}"


def test_crawls_that_are_there_are_named_when_none_was_meant(here: Path) -> None:
    for name in ("b", "a"):
        (here / ".skitter" / name / "frontier").mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"which jobs\? .*there are .skitter/a, .skitter/b"):
        place_of_jobs(None, Flags())
    assert place_of_jobs("a", Flags()) == Where(data=Path(".skitter/a"))


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ApiError(422, "invalid", "no"), 2),
        (ApiError(401, "unauthorized", "no"), 2),
        (ApiError(404, "not_found", "no"), 2),
        (ApiError(429, "too_many", "no"), 3),
        (ApiError(500, "internal", "no"), 3),
        (ApiAway(0, "away", "no"), 3),
        (ApiAway(404, "not_a_service", "no"), 3),
    ],
)
def test_what_a_service_refuses_is_bad_input_and_its_trouble_is_not(
    error: ApiError, code: int
) -> None:
    assert exit_code(error) == code
