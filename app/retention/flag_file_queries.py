"""Files that Evenhand wrote about records in tables: flags, by the checks that wrote them, and where all
files are.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from ..database.tables import DeploymentRow
from ..deployments.listed_file_queries import read_tables
from ..domain.deployment import PayloadTable, TableFormat

_AGED = text(
    """SELECT "window"->>'flag_file' AS path FROM checks
       WHERE deployment_no = :no AND "window" ? 'flag_file' AND "window"->>'flag_file' > :after
       GROUP BY 1 HAVING max(span_end) <= :before ORDER BY 1 LIMIT :limit"""
)

_FORGET = text(
    """UPDATE checks SET "window" = "window" - 'flag_file' WHERE deployment_no = :no AND "window"->>'flag_file' = ANY(:paths)"""
)


def aged_flag_files(
    session: Session, deployment_no: int, *, after: str, before: datetime, limit: int
) -> list[str]:
    """Next paths of files all of whose checks end until that time."""
    return list(
        session.scalars(_AGED, {"no": deployment_no, "after": after, "before": before, "limit": limit})
    )


def forget_flag_files(session: Session, deployment_no: int, paths: Sequence[str]) -> None:
    session.execute(_FORGET, {"no": deployment_no, "paths": list(paths)})


DELETED_TABLE = "payload_table"

_DELETED = text(
    """SELECT deployment_id, details->'payload_table'->0->>0 AS location, details->'payload_table'->0->>1 AS format
       FROM activities WHERE action = 'deployment.deleted' AND details ? 'payload_table' ORDER BY no"""
)


def payload_tables(session: Session) -> dict[int, tuple[str, PayloadTable]]:
    """Ids and payload tables by deployment number."""
    rows = session.execute(select(DeploymentRow.no, DeploymentRow.id, DeploymentRow.record_tables))
    tables = {no: (deployment_id, read_tables(stored).payload) for no, deployment_id, stored in rows}
    return {no: (deployment_id, table) for no, (deployment_id, table) in tables.items() if table is not None}


def deleted_tables(session: Session) -> list[tuple[str, PayloadTable]]:
    return [
        (row.deployment_id, PayloadTable(location=row.location, format=TableFormat(row.format)))
        for row in session.execute(_DELETED)
    ]
