"""The commands as a newcomer meets them: their help, and what they do in another folder than the service's."""

from pathlib import Path

import pytest
from sqlalchemy.engine import make_url
from typer.testing import CliRunner

from app import VERSION
from app.cli import COMMANDS, evenhand
from app.database.engine import Database
from tests.integration.cli.refusals import DATABASE_COMMANDS, Refusal

READERS = sorted(set(DATABASE_COMMANDS) - {"serve", "worker", "example"})
"""Commands that read or change what a service has made, and make none."""


def test_the_help_names_every_command() -> None:
    printed = CliRunner().invoke(evenhand, ["--help"]).output

    lines = [line.strip("│ ").split(" ", 1)[0] for line in printed.splitlines()]
    assert [name for name in COMMANDS if name in lines] == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_names_itself_and_its_arguments(name: str) -> None:
    printed = CliRunner().invoke(evenhand, [name, "--help"], prog_name="evenhand").output

    assert f"Usage: evenhand {name}" in printed


def test_the_version_is_printed() -> None:
    ended = CliRunner().invoke(evenhand, ["--version"])

    assert (ended.exit_code, ended.output) == (0, f"evenhand {VERSION}\n")


@pytest.mark.parametrize("command", READERS)
def test_in_another_folder_a_command_refuses_and_makes_nothing(command: str, refusal: Refusal, tmp_path: Path) -> None:
    said = refusal(command, {})

    assert said.startswith(f"evenhand: There is no database in {tmp_path / 'data'}. Set EVENHAND_DATA_DIR ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", sorted(set(READERS) - {"migrate"}))
def test_in_a_database_that_holds_no_evenhand_a_command_refuses_and_makes_nothing(
    command: str, refusal: Refusal, postgres_url: str, tmp_path: Path
) -> None:
    url = make_url(postgres_url).set(database="postgres").render_as_string(hide_password=False)

    assert "holds no Evenhand yet" in refusal(command, {"DATABASE_URL": url})

    database = Database(url)
    with database.engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").scalar() == 0
    database.close()
    assert list(tmp_path.iterdir()) == []
