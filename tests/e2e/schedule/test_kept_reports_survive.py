"""A kept report whose worker is killed in the middle of it, and reports of processes that order sets of texts differently."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from app.database.engine import Database
from app.domain.deployment import Column, FieldKind, FieldType
from app.domain.monitor import MonitoredAttribute
from app.reports.regulator.regulator_report import find_database_differences, find_file_differences, read_report_file
from tests.builders.applicants import monitor_of
from tests.progress import wait_until
from tests.scenes import NOON, Scene, scene
from tests.service import RunningService, running_service

COLUMNS = tuple(Column(name=name, type=FieldType.STRING, kind=FieldKind.CATEGORICAL) for name in ("sex", "race"))
MONITOR = monitor_of(
    MonitoredAttribute(feature="sex", monitored=("female",), reference=("male",)),
    MonitoredAttribute(feature="race", monitored=("Black", "العربية", "😀"), reference=("White",)),
)
KINDS = [(sex, race) for sex in ("male", "female", "") for race in ("White", "Black", "العربية", "😀")]
PEOPLE = [
    {"sex": sex, "race": race, "prediction": int((no + len(race)) % 3 > 0), "probability": [1 - no / 60, no / 60]}
    for no, (sex, race) in enumerate(KINDS * 5)
]
MAKE_ALL_FORMS = """
import hashlib, sys
from datetime import UTC, datetime
from app.domain.check import Span
from app.reports.document import ReportStamp
from app.reports.regulator.sheets import PeriodSheet, SheetSelection
from app.reports.regulator.regulator_report import Order, ReportForm, read_content
from app.database.engine import Database
from app.deployments.queries import Deployments
from tests.scenes import HOUR, NOON, PlainSealer

database = Database(sys.argv[1])
with database.transaction() as session:
    deployment = Deployments(session, PlainSealer()).get_by_no(int(sys.argv[2]))
made, span = ReportStamp(at=datetime(2027, 1, 1, tzinfo=UTC), by="somebody"), Span(start=NOON, end=NOON + 3 * HOUR)
wanted = SheetSelection(sheets=tuple(PeriodSheet), attributes=("sex",), controls=("race",))
order = Order(deployment=deployment, span=span, wanted=wanted, made=made)
for form in ReportForm:
    print(form.value, hashlib.sha256(read_content(database, order).write(form)).hexdigest())
database.close()
"""


@pytest.fixture
def stage(database: Database) -> Scene:
    made = scene(database, COLUMNS, MONITOR, endpoint=None)
    made.log(PEOPLE, NOON)
    made.check(NOON)
    return made


@pytest.fixture
def service(stage: Scene, tmp_path: Path) -> Iterator[RunningService]:
    with running_service(stage.database, tmp_path) as service:
        yield service


@pytest.mark.nightly
def test_a_report_whose_worker_is_killed_is_kept_once_and_whole(service: RunningService, stage: Scene, tmp_path: Path) -> None:
    environment = {**os.environ, "DATABASE_URL": stage.database.url, "EVENHAND_DATA_DIR": str(tmp_path)}
    command = (sys.executable, "-m", "app.cli", "worker")
    address = f"/v1/deployments/{stage.deployment.id}"
    schedule = {"name": "Every month", "rhythm": "monthly", "preset": "ugesp", "controls": [], "channels": []}
    service.client.put(f"{address}/report-schedules/monthly", json=schedule).raise_for_status()

    def states() -> list[str]:
        return [report["state"] for report in service.client.get(f"{address}/kept-reports").json()["reports"]]

    with psycopg.connect(stage.database.url, autocommit=True) as connection, psycopg.connect(stage.database.url) as blocking:
        connection.execute("UPDATE report_schedules SET since = date_trunc('month', now(), 'UTC') - interval '1 month'")
        # Nobody can store a file until this transaction ends, so the worker dies with the report made and not kept.
        blocking.execute("LOCK TABLE kept_report_files IN SHARE ROW EXCLUSIVE MODE")
        with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as first:
            wait_until(lambda: _waits_for_lock(connection))
            while_storing = states()
            first.send_signal(signal.SIGKILL)
        blocking.rollback()
        after_kill = states()
        connection.execute("UPDATE kept_reports SET claimable_at = now()")  # the lease, gone by
        with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as second:
            wait_until(lambda: states() == ["ready"])
            second.kill()

    assert (while_storing, after_kill) == (["running"], ["running"])
    (kept,) = service.client.get(f"{address}/kept-reports").json()["reports"]
    for form in ("json", "html", "pdf", "csv"):
        report = read_report_file(service.client.get(f"{address}/kept-reports/{kept['id']}/file.{form}").raise_for_status().content)
        assert list(find_file_differences(report)) == []
        with stage.database.transaction() as session:
            assert list(find_database_differences(session, stage.deployment, report)) == []


def _waits_for_lock(connection: psycopg.Connection) -> bool:
    waiting = connection.execute("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'kept_report_files'::regclass").fetchone()
    return waiting is not None and waiting[0] > 0


@pytest.mark.nightly
def test_processes_with_different_hash_seeds_make_the_same_bytes(stage: Scene) -> None:
    command = (sys.executable, "-c", MAKE_ALL_FORMS, stage.database.url, str(stage.deployment.no))
    made = [
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, stdout=subprocess.PIPE, text=True, check=True).stdout
        for seed in ("1", "2")
    ]

    assert [line.split()[0] for line in made[0].splitlines()] == ["html", "pdf", "csv", "json"]
    assert made[0] == made[1]
