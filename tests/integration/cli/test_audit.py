import json
from pathlib import Path

import pytest
from sqlalchemy import text
from typer.testing import CliRunner, Result

from app.access.audit.activity_queries import record_activity
from app.access.audit.event_queries import seal_events
from app.cli.audit import command
from app.database.engine import Database
from tests.builders.page_words import says


@pytest.fixture(autouse=True)
def _sealed_events(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", database.url)
    monkeypatch.setenv("EVENHAND_DATA_DIR", str(tmp_path))
    for no in range(3):
        with database.transaction() as session:
            record_activity(session, "command line", "user.created", subject=f"person-{no}", details={"role": [None, "read"]})
    with database.transaction() as session:
        seal_events(session)


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def _delete_last(database: Database) -> None:
    with database.transaction() as session:
        session.execute(text("SET LOCAL session_replication_role = replica"))
        session.execute(text("DELETE FROM audit_events WHERE position = 3"))


def test_an_intact_chain_is_verified_and_gives_its_head(database: Database) -> None:
    with database.transaction() as session:
        record_activity(session, "command line", "user.created", subject="person-3")
    intact = _run("verify")

    assert intact.exit_code == 0
    assert says(intact.output, "3 events are intact", "Not sealed yet: 1")
    assert " Head: 3:" in intact.output


def test_an_end_that_was_removed_is_noticed_with_a_head_that_was_noted(database: Database) -> None:
    head = _run("verify").output.split()[-1]
    _delete_last(database)
    found = _run("verify", "--head", head)

    assert _run("verify").exit_code == 0
    assert found.exit_code == 1
    assert says(found.output, "position 2", "position 3")


def test_an_export_can_be_verified_without_the_database_and_a_changed_line_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    exported = _run("export", str(file))
    lines = file.read_text().splitlines()
    head = _run("verify").output.split()[-1]

    assert exported.output == f"3 events were written to {file}.\n"
    assert [json.loads(line)["subject"] for line in lines] == ["person-0", "person-1", "person-2"]
    assert _run("verify", "--file", str(file)).output.split()[-1] == head

    file.write_text("\n".join([lines[0], lines[1].replace("person-1", "person-9"), lines[2]]))
    changed = _run("verify", "--file", str(file))

    assert changed.exit_code == 1
    assert says(changed.output, "position 2", "no. 2", "not as it was sealed")


def test_an_export_does_not_overwrite_a_file_and_a_head_of_another_form_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "kept.jsonl"
    file.write_text("kept")

    assert "cannot be written" in str(_run("export", str(file)).exception)
    assert "POSITION:HASH" in str(_run("verify", "--head", "3").exception)
    assert "is not an event" in str(_run("verify", "--file", str(file)).exception)
    assert file.read_text() == "kept"
