"""Labels as people look through them, with the features of the record or their own."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row, text
from sqlalchemy.orm import Session

from ...sources.stored.record_conditions import RecordPlace

_COLUMNS = """f.feedback_no, f.feedback_id, f.logged_at, coalesce(r.schema_version, f.schema_version) AS schema_version,
    coalesce(r.features, f.features) AS features, coalesce(r.meta, f.meta) AS meta, f.label,
    coalesce(r.label, r.prediction, f.predicted_label, f.predicted) AS prediction,
    coalesce(r.probability, f.predicted_probability) AS probability, r.record_no IS NOT NULL AS has_record"""
_WITH_RECORDS = """feedback_records f LEFT JOIN payload_records r
    ON r.deployment_no = f.deployment_no AND r.logged_at = f.record_logged_at AND r.record_no = f.record_no"""
_WINDOW = """f.deployment_no = :no AND f.logged_at >= coalesce(CAST(:since AS timestamptz), '-infinity')
    AND f.logged_at < coalesce(CAST(:until AS timestamptz), 'infinity')"""


def list_feedback(
    session: Session,
    deployment_no: int,
    *,
    since: datetime | None,
    until: datetime | None,
    after: RecordPlace | None,
    limit: int,
) -> Sequence[Row[Any]]:
    """Logged in [since, until), newest first, those after that place."""
    values = {"no": deployment_no, "since": since, "until": until, "limit": limit}
    is_after = ""
    if after is not None:
        is_after = "AND (f.logged_at, f.feedback_no) < (:after_at, :after_no)"
        values |= {"after_at": after.logged_at, "after_no": after.record_no}
    query = f"""SELECT {_COLUMNS} FROM {_WITH_RECORDS} WHERE {_WINDOW} {is_after}
        ORDER BY f.logged_at DESC, f.feedback_no DESC LIMIT :limit"""  # noqa: S608 - constants
    return session.execute(text(query), values).all()


def find_feedback(session: Session, deployment_no: int, feedback_id: str) -> Row[Any] | None:
    query = f"SELECT {_COLUMNS} FROM {_WITH_RECORDS} WHERE f.deployment_no = :no AND f.feedback_id = :id"  # noqa: S608 - constants
    return session.execute(text(query), {"no": deployment_no, "id": feedback_id}).one_or_none()


def count_feedback(
    session: Session, deployment_no: int, *, since: datetime | None, until: datetime | None
) -> int:
    query = f"SELECT count(*) FROM feedback_records f WHERE {_WINDOW}"  # noqa: S608 - constants
    return int(
        session.execute(text(query), {"no": deployment_no, "since": since, "until": until}).scalar_one()
    )
