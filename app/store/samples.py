"""The newest payload records as they are, for looking at what columns hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.domain.values import Scalar


@dataclass(frozen=True, slots=True)
class SampledRecord:
    """One payload record: features and meta fields in the order of the schema, and the outcome (the decoded label, or the prediction)."""

    logged_at: datetime
    features: Sequence[Scalar | None]
    meta: Sequence[Scalar | None]
    outcome: Scalar | None


def newest_records(session: Session, deployment_no: int, schema_version: int, limit: int) -> list[SampledRecord]:
    """Of the newest `limit` records those of that schema version, newest first."""
    rows = session.execute(
        # The limit is inside: looking for records of the version behind those of another could read all there are.
        text(
            """SELECT logged_at, features, meta, coalesce(label, prediction) AS outcome
               FROM (SELECT * FROM payload_records WHERE deployment_no = :deployment_no
                     ORDER BY logged_at DESC, record_no DESC LIMIT :limit) newest
               WHERE schema_version = :schema_version ORDER BY logged_at DESC, record_no DESC"""
        ),
        {"deployment_no": deployment_no, "schema_version": schema_version, "limit": limit},
    )
    return [SampledRecord(row.logged_at, row.features, row.meta or (), row.outcome) for row in rows]
