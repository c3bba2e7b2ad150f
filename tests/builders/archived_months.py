"""A month of a deployment that moves to files and back, for tests of both ways."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import psycopg

from app.domain.archives import CalendarMonth, MonthArchive
from app.retention import archiving
from app.retention.archiving import BroughtBack, bring_back, store_month
from app.store.evidence.changes import note_changed_hours
from app.store.retention.archives import MonthPlace
from tests.builders.lender import UNFAIR
from tests.scenes import HOUR, NOON, Scene

MARCH = CalendarMonth(2026, 3)
MOVED = ("payload_records", "feedback_records", "counterfactuals")
KEPT = ("payload_keys", "flagged_records", "copy_targets", "evidence_people")
COUNTED = NOON + timedelta(days=62)
"""A time at which all labels of March have their horizon passed."""


def place(stage: Scene) -> MonthPlace:
    return MonthPlace(stage.deployment.no, MARCH)


def store(stage: Scene, folder: Path) -> MonthArchive:
    return store_month(stage.database, place(stage), folder)


def bring(stage: Scene, folder: Path | None = None) -> BroughtBack:
    return bring_back(stage.database, place(stage), folder)


def partitions(stage: Scene) -> list[str]:
    with psycopg.connect(stage.database.url) as connection:
        return [name for (name,) in connection.execute("SELECT relname FROM pg_class WHERE relname = 'payload_records_2026_03'")]


def execute(stage: Scene, statement: str) -> None:
    with psycopg.connect(stage.database.url) as connection:
        connection.execute(statement.encode())


def late(stage: Scene, name: str = "late") -> None:
    """Logs a record of March, as an import does."""
    stage.number_from(500_000)
    stage.log([{**row, "id": name, "customer": "late"} for row in UNFAIR.applicants("rent", [50.0])], NOON + HOUR)
    with stage.database.transaction() as session:
        note_changed_hours(session, stage.deployment.no, [NOON + HOUR])


def dying(step: str) -> Callable[..., object]:
    real, calls = getattr(archiving, step), []

    def die(*arguments: object, **options: object) -> object:
        calls.append(step)
        if len(calls) == 2 or step not in {"holds_rows", "remove_rows", "_copy_rows"}:  # these are called for each table
            raise KeyboardInterrupt
        return real(*arguments, **options)

    return die
