import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select
from typer.testing import CliRunner, Result

from app.access.authenticator import Authenticator
from app.access.principals import Role
from app.cli.keys import command
from app.database.engine import Database
from app.database.tables import ActivityRow, ApiKeyRow


@pytest.fixture(autouse=True)
def _settings(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", database.url)
    monkeypatch.setenv("EVENHAND_DATA_DIR", str(tmp_path))


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def test_a_key_is_made_with_an_end_rotated_and_listed_with_its_last_use(database: Database) -> None:
    old = _run("create", "--role", "read", "--name", "report", "--expires-in-days", "30").stdout.strip()
    rotated = _run("rotate", old[4:12], "--overlap-hours", "1")
    new = rotated.stdout.strip()
    both = [asyncio.run(Authenticator(database).authenticate(f"Bearer {key}")).role for key in (old, new)]
    unused = _run("create", "--role", "ingest").stdout.strip()

    listed = _run("list").stdout.splitlines()

    assert both == [Role.READ, Role.READ]
    assert f"The key {old[4:12]} is valid until 20" in rotated.stderr
    assert [line.split()[0] for line in listed] == [old[4:12], new[4:12], unused[4:12]]
    assert ["last used 20" in line for line in listed] == [True, True, False]
    assert "in use until" in listed[0]
    assert listed[2].endswith("in use  never used")
    with database.transaction() as session:
        ends = {row.id: row.expires_at for row in session.execute(select(ApiKeyRow.id, ApiKeyRow.expires_at))}
        actions = session.scalars(select(ActivityRow.action).order_by(ActivityRow.no)).all()
    now = datetime.now(UTC)
    assert (ends[old[4:12]] or now) - now < timedelta(hours=1)
    assert timedelta(days=29) < (ends[new[4:12]] or now) - now < timedelta(days=31)
    assert actions == ["api_key.created", "api_key.rotated", "api_key.created"]
