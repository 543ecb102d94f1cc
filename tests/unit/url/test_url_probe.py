import pytest

from skitter.cli.probes.url import answer
from skitter.errors import ConfigError


def test_a_url_is_answered_with_its_forms_host_and_domain() -> None:
    assert answer({"input": "../b?utm_id=1#c", "base": "http://www.Example.co.uk:8080/a/"}) == {
        "href": "http://www.example.co.uk:8080/b?utm_id=1#c",
        "canonical": "http://www.example.co.uk:8080/b",
        "host": "www.example.co.uk:8080",
        "domain": "example.co.uk",
    }


def test_another_scheme_has_a_serialisation_and_nothing_else() -> None:
    expected = {"href": "mailto:a@b.test", "canonical": None, "host": None, "domain": None}
    assert answer({"input": "mailto:a@b.test", "base": None}) == expected


@pytest.mark.parametrize("question", [{"input": "http://["}, {"input": "x", "base": "nonsense"}])
def test_what_is_no_url_is_answered_with_nulls(question: dict[str, object]) -> None:
    assert answer(question) == {"href": None, "canonical": None, "host": None, "domain": None}


@pytest.mark.parametrize(
    ("question", "field"),
    [({}, "input"), ({"input": 3}, "input"), ({"input": "x", "base": ["y"]}, "base")],
)
def test_a_field_of_the_wrong_type_is_named(question: dict[str, object], field: str) -> None:
    with pytest.raises(ConfigError, match=f"^{field}: "):
        answer(question)
