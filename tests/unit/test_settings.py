"""Secrets from files, and a password apart from the address."""

from pathlib import Path

import pytest

from app.base.errors import InvalidInput
from app.base.settings import count_api_processes, load_settings

VARIABLES = ("DATABASE_URL", "DATABASE_PASSWORD", "EVENHAND_SECRET_KEY", "EVENHAND_SMTP_URL")


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"{name}_FILE", raising=False)


@pytest.mark.parametrize("variable", VARIABLES)
def test_a_secret_is_read_from_the_file_that_is_named(variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("postgresql://eve:sesame@db/evenhand\n")
    monkeypatch.setenv(f"{variable}_FILE", str(tmp_path / "secret"))

    secret = getattr(load_settings(), variable.removeprefix("EVENHAND_").lower())

    assert secret.get_secret_value() == "postgresql://eve:sesame@db/evenhand"


def test_the_variable_counts_before_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("from the file")
    monkeypatch.setenv("EVENHAND_SECRET_KEY_FILE", str(tmp_path / "secret"))
    monkeypatch.setenv("EVENHAND_SECRET_KEY", "from the variable")

    secret = load_settings().secret_key

    assert secret is not None
    assert secret.get_secret_value() == "from the variable"


@pytest.mark.parametrize(("content", "words"), [(None, "cannot be read"), (b"\n", "is empty"), (b"\xff\xfe", "cannot be read")])
def test_a_file_that_cannot_be_used_is_named_with_its_variable(
    content: bytes | None, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if content is not None:
        (tmp_path / "secret").write_bytes(content)
    monkeypatch.setenv("DATABASE_PASSWORD_FILE", str(tmp_path / "secret"))

    with pytest.raises(InvalidInput, match=words) as refused:
        load_settings()

    assert [problem.field for problem in refused.value.problems] == ["DATABASE_PASSWORD_FILE"]


@pytest.mark.parametrize(
    ("url", "effective"),
    [
        ("postgresql://eve@db:5432/evenhand", "postgresql://eve:p%40ss%2Fword@db:5432/evenhand"),
        ("postgresql://eve:own@db:5432/evenhand", "postgresql://eve:own@db:5432/evenhand"),
        ("no address", "no address"),
    ],
)
def test_a_password_goes_into_an_address_that_has_none(url: str, effective: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    monkeypatch.setenv("DATABASE_PASSWORD", "p@ss/word")

    found = load_settings().database_url

    assert found is not None
    assert found.get_secret_value() == effective


def test_a_connection_outlasts_the_pauses_of_the_openscale_sdk() -> None:
    """It asks for a state every 5 seconds, and for recommendations every 10, over one connection: the next call must not meet its end."""
    assert load_settings().keep_alive_seconds > 10


def test_on_macos_there_is_one_process_on_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_API_PROCESSES", "2")
    assert load_settings().api_processes == 2
    monkeypatch.setattr("app.base.settings.platform.system", lambda: "Darwin")

    assert count_api_processes() == 1
    with pytest.raises(InvalidInput, match="on macOS"):
        load_settings()
