"""Commands that go through many records have a worker's priority, and leave to a worker what it does already."""

from pathlib import Path

import psycopg
import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

from app.cli.database import NICENESS
from app.cli.retention import command
from app.database.engine import Database
from app.domain.monitor import Monitor, OutcomeRule
from tests.builders.lender import COLUMNS, HOUSING
from tests.integration.cli.refusals import Refusal
from tests.scenes import scene


def test_commands_that_go_through_many_records_give_way(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lowered: list[int]
) -> None:
    monkeypatch.setenv("DATABASE_URL", database.url)
    monkeypatch.setenv("EVENHAND_DATA_DIR", str(tmp_path))
    monitor = Monitor(outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)), attributes=(HOUSING,))
    scene(database, COLUMNS, monitor, endpoint=None)
    results = [CliRunner().invoke(command, arguments) for arguments in (["run"], ["erase", "a-model", "--id", "e-1", "--record-id", "r1"])]

    assert [result.exit_code for result in results] == [0, 0]
    assert lowered == 2 * [NICENESS]


def test_policies_that_a_worker_applies_are_not_applied_by_hand_meanwhile(
    database: Database, refusal: Refusal, snapshot: SnapshotAssertion
) -> None:
    with psycopg.connect(database.url, autocommit=True) as worker:
        worker.execute("SELECT pg_advisory_lock(4540261150)")

        assert refusal("retention run", {"DATABASE_URL": database.url}) == snapshot
