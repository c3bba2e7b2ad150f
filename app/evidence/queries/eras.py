"""Eras: evidence with one model revision."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Integer, and_, cast, delete, exists, func, or_, select, text, update
from sqlalchemy.dialects.postgresql import distinct_on, insert
from sqlalchemy.orm import Session

from ...base.frozen import frozen
from ...database.binary_rows import read_row
from ...database.tables import (
    ChangedHourRow,
    CheckRow,
    CheckTableRow,
    DeploymentRow,
    DeploymentSchemaRow,
    EvidenceEraRow,
    EvidenceLateLabelRow,
    MonitorRow,
)
from ...deployments.listed_file_queries import read_tables
from ...domain.check import CheckState, DataSet, Span
from ...domain.deployment import FeedbackTable, PayloadTable, ProblemType, RecordSchema

_LOCK = 0x65766964
"""First key of the advisory locks on the evidence of a deployment."""


@frozen(kw_only=True)
class Era:
    """`late_labels` of its records arrived after their horizon, and do not count. Records left out are known from `left_out_from` on."""

    no: int
    monitor_version: int
    model_revision: str
    starts_at: datetime | None
    counted_until: datetime | None
    labels_until: datetime | None
    late_labels: int
    problem: str | None
    left_out_from: datetime | None = None
    figures_due: bool = True


_ERA = tuple(getattr(EvidenceEraRow, name) for name in Era.__dataclass_fields__ if name != "late_labels")


@frozen(kw_only=True)
class FollowedDeployment:
    """Facts for counting. `schemas` are all versions, the present one last; tables are None without files."""

    no: int
    id: str
    problem_type: ProblemType
    schemas: Sequence[RecordSchema]
    model_revision: str
    has_endpoint: bool
    payload: PayloadTable | None = None
    feedback: FeedbackTable | None = None

    @property
    def schema(self) -> RecordSchema:
        return self.schemas[-1]


def try_lock_evidence(session: Session, deployment_no: int) -> bool:
    """Locks the evidence until the transaction ends; False at once if another process has it."""
    return bool(session.scalar(text("SELECT pg_try_advisory_xact_lock(:lock, :no)"), {"lock": _LOCK, "no": deployment_no}))


def lock_evidence(session: Session, deployment_no: int) -> None:
    """Locks the evidence until the transaction ends."""
    session.execute(text("SELECT pg_advisory_xact_lock(:lock, :no)"), {"lock": _LOCK, "no": deployment_no})


def deployments_to_follow(session: Session, *, latest: datetime, in_files: bool = False) -> list[int]:
    """Returns the deployments with a monitor that have changed hours, uncounted hours before `latest`, or figures due.

    `in_files`: those in files, else the others.
    """
    of_present = (
        EvidenceEraRow.deployment_no == MonitorRow.deployment_no,
        EvidenceEraRow.monitor_version == MonitorRow.version,
        EvidenceEraRow.model_revision == DeploymentRow.model_revision,
    )
    # A killed process may have counted every hour, but not brought every figure there.
    is_reached = and_(EvidenceEraRow.counted_until.between(latest, func.now()), ~EvidenceEraRow.figures_due)
    is_counted = and_(*of_present, is_reached)
    lies_in_files = DeploymentRow.record_tables.is_not(None)
    present = select(EvidenceEraRow.no).where(*of_present).scalar_subquery()
    is_due = or_(ChangedHourRow.era_no.is_(None), ChangedHourRow.era_no == present)
    has_changes = exists().where(ChangedHourRow.deployment_no == MonitorRow.deployment_no, is_due)
    statement = (
        select(MonitorRow.deployment_no)
        .join(DeploymentRow, DeploymentRow.no == MonitorRow.deployment_no)
        .where(lies_in_files if in_files else ~lies_in_files, or_(has_changes, ~exists().where(is_counted)))
    )
    return list(session.scalars(statement))


def forget_unfollowed_changes(session: Session) -> None:
    """Deletes the notes of deployments without a monitor: one made later counts all hours."""
    unfollowed = ~exists().where(MonitorRow.deployment_no == ChangedHourRow.deployment_no)
    session.execute(delete(ChangedHourRow).where(unfollowed))


def followed_deployment(session: Session, deployment_no: int) -> FollowedDeployment:
    deployment = (DeploymentRow.no, DeploymentRow.id, DeploymentRow.problem_type, DeploymentRow.model_revision)
    schema = (DeploymentSchemaRow.version, DeploymentSchemaRow.features, DeploymentSchemaRow.meta)
    rows = session.execute(
        select(*deployment, DeploymentRow.endpoint, DeploymentRow.record_tables, *schema)
        .join(DeploymentSchemaRow, DeploymentSchemaRow.deployment_no == DeploymentRow.no)
        .where(DeploymentRow.no == deployment_no)
        .order_by(DeploymentSchemaRow.version)
    ).all()
    tables = read_tables(rows[0].record_tables)
    return read_row(
        FollowedDeployment,
        rows[0],
        schemas=[read_row(RecordSchema, row) for row in rows],
        has_endpoint=rows[0].endpoint is not None,
        payload=tables.payload,
        feedback=tables.feedback,
    )


def find_era(session: Session, deployment_no: int, model_revision: str) -> Era | None:
    """Returns the newest era of that revision. The present monitor may compare other figures."""
    late = select(func.coalesce(func.sum(EvidenceLateLabelRow.labels), 0)).where(EvidenceLateLabelRow.era_no == EvidenceEraRow.no)
    of_revision = select(*_ERA, cast(late.scalar_subquery(), Integer).label("late_labels")).where(
        EvidenceEraRow.deployment_no == deployment_no, EvidenceEraRow.model_revision == model_revision
    )
    row = session.execute(of_revision.order_by(EvidenceEraRow.no.desc()).limit(1)).one_or_none()
    return None if row is None else read_row(Era, row)


def begin_era(session: Session, deployment_no: int, monitor_version: int, model_revision: str, *, starts_at: datetime | None) -> None:
    values: dict[str, Any] = {
        "deployment_no": deployment_no,
        "monitor_version": monitor_version,
        "model_revision": model_revision,
        "starts_at": starts_at,
        "alerts_due": True,  # alerts of the era before are over
    }
    session.execute(insert(EvidenceEraRow).values(values))


def note_progress(session: Session, era_no: int, **values: Any) -> None:  # noqa: ANN401 - columns of the row
    session.execute(update(EvidenceEraRow).where(EvidenceEraRow.no == era_no).values(values))


def eras_with_alerts_due(session: Session) -> list[int]:
    """Returns the deployments whose evidence has changed since their alerts were decided."""
    return list(session.scalars(select(EvidenceEraRow.deployment_no).where(EvidenceEraRow.alerts_due).distinct()))


def take_alerts_due(session: Session, deployment_no: int) -> None:
    due = (EvidenceEraRow.deployment_no == deployment_no, EvidenceEraRow.alerts_due)
    session.execute(update(EvidenceEraRow).where(*due).values(alerts_due=False))


def current_hour_bound(session: Session, grace_seconds: float) -> datetime:
    """Returns the end of the newest hour that no open write can add to, on the database's clock."""
    bound: datetime = session.execute(
        select(func.date_trunc("hour", func.now() - text(f"interval '{grace_seconds:f} seconds'"), "UTC"))
    ).scalar_one()
    return bound


_WHOLE_HOUR = text("span_end = span_start + interval '1 hour' AND span_start = date_trunc('hour', span_start, 'UTC')")


@frozen(kw_only=True)
class BalancedTable:
    hour: datetime
    attribute: str
    check_no: int
    cells: dict[str, Any]


def balanced_tables(session: Session, deployment_no: int, era: Era, span: Span) -> Sequence[BalancedTable]:
    """Returns the tables of the span's hours, of each hour's newest check in the era."""
    newest = (
        select(CheckRow.no, CheckRow.span_start)
        .ext(distinct_on(CheckRow.span_start))
        # An earlier version of the monitor compared the same, or the hour does not count.
        .where(
            *_of_era(deployment_no, era),
            CheckRow.monitor_version <= era.monitor_version,
            CheckRow.span_start >= span.start,
            CheckRow.span_start < span.end,
        )
        # DISTINCT ON keeps the newest check of each hour.
        .order_by(CheckRow.span_start, CheckRow.no.desc())
        .subquery()
    )
    rows = session.execute(
        select(newest.c.span_start, CheckTableRow.attribute, newest.c.no, CheckTableRow.cells)
        .join(CheckTableRow, CheckTableRow.check_no == newest.c.no)
        .where(CheckTableRow.data == DataSet.BALANCED, CheckTableRow.part == "span")
    )
    return [BalancedTable(hour=hour, attribute=attribute, check_no=no, cells=cells) for hour, attribute, no, cells in rows]


def checked_hours(session: Session, deployment_no: int, era: Era) -> Sequence[datetime]:
    checked = (*_of_era(deployment_no, era), CheckRow.monitor_version == era.monitor_version)
    return session.scalars(select(CheckRow.span_start).where(*checked).distinct()).all()


def _of_era(deployment_no: int, era: Era) -> tuple[Any, ...]:
    return (
        CheckRow.deployment_no == deployment_no,
        CheckRow.state == CheckState.SUCCEEDED,
        CheckRow.model_revision == era.model_revision,
        _WHOLE_HOUR,
    )
