"""Records as the OpenScale SDK lists and counts them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, and_, func, select
from sqlalchemy.orm import Session

from ..tables import FeedbackRecordRow, PayloadRecordRow


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedTimes:
    """Times of logging, half-open; an absent end is open."""

    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFeedback:
    """One label, with the features that it came with or those of its record."""

    feedback_id: str
    logged_at: datetime
    schema_version: int
    features: list[Any] | None
    meta: list[Any] | None
    label: Any
    predicted: Any
    probability: Any


def count_payload(session: Session, deployment_no: int, times: LoggedTimes) -> int:
    """Returns the number of payload records logged in the range."""
    statement = select(func.count()).select_from(PayloadRecordRow).where(PayloadRecordRow.deployment_no == deployment_no)
    return session.scalar(_within(statement, PayloadRecordRow.logged_at, times)) or 0


def count_feedback(session: Session, deployment_no: int, times: LoggedTimes) -> int:
    """Returns the number of labels logged in the range."""
    statement = select(func.count()).select_from(FeedbackRecordRow).where(FeedbackRecordRow.deployment_no == deployment_no)
    return session.scalar(_within(statement, FeedbackRecordRow.logged_at, times)) or 0


def list_feedback(
    session: Session, deployment_no: int, times: LoggedTimes, *, offset: int, limit: int, only_id: str | None = None
) -> Sequence[StoredFeedback]:
    """Returns labels, newest first."""
    own, record = FeedbackRecordRow, PayloadRecordRow
    of_record = and_(record.deployment_no == own.deployment_no, record.logged_at == own.record_logged_at, record.record_no == own.record_no)
    statement = (
        select(
            own.feedback_id,
            own.logged_at,
            func.coalesce(record.schema_version, own.schema_version).label("schema_version"),
            func.coalesce(record.features, own.features).label("features"),
            func.coalesce(record.meta, own.meta).label("meta"),
            own.label,
            func.coalesce(record.label, record.prediction, own.predicted_label, own.predicted).label("predicted"),
            func.coalesce(record.probability, own.predicted_probability).label("probability"),
        )
        .outerjoin(record, of_record)
        .where(own.deployment_no == deployment_no)
        .order_by(own.logged_at.desc(), own.feedback_no.desc())
        .offset(offset)
        .limit(limit)
    )
    if only_id is not None:
        statement = statement.where(own.feedback_id == only_id)
    rows = session.execute(_within(statement, own.logged_at, times)).mappings()
    return [StoredFeedback(**row) for row in rows]


def _within(statement: Select[Any], column: Any, times: LoggedTimes) -> Select[Any]:  # noqa: ANN401 - a column
    if times.since is not None:
        statement = statement.where(column >= times.since)
    return statement if times.until is None else statement.where(column < times.until)
