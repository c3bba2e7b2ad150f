"""Deployments and their queued checks, put straight into the store."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import insert, select, text
from sqlalchemy.orm import Session

from app.base.clock import HOUR, floor_to_hour
from app.checks.queries import get_check, queue_requested
from app.database.engine import Database
from app.database.tables import CheckRow, DeploymentRow, MonitorRow
from app.domain.check import CheckRun, Span, Trigger

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def add_deployments(database: Database, count: int = 1, *, schedule: str = "hourly", monitored_since: datetime = LONG_AGO) -> Sequence[int]:
    """The numbers of new deployments, each with a monitor made at that moment."""
    with database.transaction() as session:
        first = len(session.scalars(select(DeploymentRow.no)).all())
        deployments = [
            {"id": f"loans-{no}", "name": "Loans", "problem_type": "binary", "outputs": {}, "schema_version": 1, "model_revision": "1"}
            for no in range(first, first + count)
        ]
        nos = session.scalars(insert(DeploymentRow).returning(DeploymentRow.no), deployments).all()
        common = {"version": 1, "schedule": schedule, "config": {}, "scheduled_since": monitored_since}
        monitors = [{"deployment_no": no, **common} for no in nos]
        session.execute(insert(MonitorRow), monitors)
    return nos


def ask(session: Session, deployment_no: int, trigger: Trigger = Trigger.REQUEST) -> CheckRun:
    """A requested check of the deployment, newly queued."""
    return queue_requested(session, deployment_no, span=Span(start=LONG_AGO, end=LONG_AGO + HOUR), trigger=trigger, requested_by="a person")


def add_hours(database: Database, deployment_no: int, count: int) -> list[datetime]:
    """The starts of that many hours before 2021, oldest first, queued as scheduled checks."""
    hours = [floor_to_hour(datetime(2021, 1, 1, tzinfo=UTC)) - (count - no) * HOUR for no in range(count)]
    rows = [
        {
            "id": f"{deployment_no}-{hour:%d%H}",
            "deployment_no": deployment_no,
            "trigger": "schedule",
            "state": "queued",
            "span_start": hour,
            "span_end": hour + HOUR,
            "claimable_at": hour + HOUR,
            "attempts": 0,
            "cancel_requested": False,
            "created_by": "schedule",
        }
        for hour in hours
    ]
    with database.transaction() as session:
        session.execute(insert(CheckRow), rows)
    return hours


def reread(database: Database, check: CheckRun) -> CheckRun:
    """The check as it is stored now."""
    with database.transaction() as session:
        return get_check(session, check.deployment_no, check.id)


def let_pass(database: Database, duration: timedelta) -> None:
    """Moves every lease and every waiting time into the past by so much, as if it had gone by."""
    with database.transaction() as session:
        session.execute(
            text("UPDATE checks SET claimable_at = claimable_at - :d, lease_until = lease_until - :d WHERE claimable_at IS NOT NULL"),
            {"d": duration},
        )


def end_leases(database: Database) -> None:
    """Lets the leases of running checks run out, as if their workers had been silent for so long."""
    with database.transaction() as session:
        session.execute(text("UPDATE checks SET lease_until = now(), claimable_at = now() WHERE state = 'running'"))
