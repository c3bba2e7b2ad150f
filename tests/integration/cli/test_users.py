from pathlib import Path

import pytest
from sqlalchemy import select
from typer.testing import CliRunner, Result

from app.access.passwords import is_password
from app.access.users import user_rules as users
from app.cli.users import command
from app.database.engine import Database
from app.database.tables import ActivityRow

PASSWORD = "four plain words here"  # noqa: S105 - of a user that the tests make


@pytest.fixture(autouse=True)
def _settings(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", database.url)
    monkeypatch.setenv("EVENHAND_DATA_DIR", str(tmp_path))


def _run(*arguments: str, password: str = "") -> Result:
    return CliRunner().invoke(command, arguments, input=f"{password}\n")


def test_a_user_is_made_with_a_password_from_standard_input_and_listed(database: Database) -> None:
    made = _run("create", "ada", "--role", "manage", password=PASSWORD)
    listed = _run("list")

    assert made.output == "The user ada can log in.\n"
    assert listed.output.split() == ["ada", "manage", "all", "deployments", "in", "use"]
    with database.transaction() as session:
        assert is_password(PASSWORD, users.get_user(session, "ada").password_hash)
        assert session.execute(select(ActivityRow.actor, ActivityRow.action)).all() == [("command line", "user.created")]


def test_a_password_is_changed_and_a_user_shut_out_and_let_in_again(database: Database) -> None:
    _run("create", "ada", "--role", "read", password=PASSWORD)

    _run("password", "ada", password="another plain sentence")  # noqa: S106 - as above
    _run("disable", "ada")
    shut_out = _run("list").output
    _run("enable", "ada")
    let_in = _run("list").output

    assert "disabled" in shut_out
    assert "in use" in let_in
    with database.transaction() as session:
        assert is_password("another plain sentence", users.get_user(session, "ada").password_hash)


@pytest.mark.parametrize("arguments", [("create", "ada", "--role", "ingest"), ("create", "Ada", "--role", "read"), ("password", "nobody")])
def test_what_cannot_be_is_refused(arguments: tuple[str, ...]) -> None:
    assert _run(*arguments, password=PASSWORD).exit_code == 1
