"""Deployments with tables, also deleted ones: where Evenhand's files about them are."""

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from ...domain.tables_of_files import PayloadTable, TableFormat
from ..deployments.record_tables import read_payload_table
from ..tables import DeploymentRow

DELETED_TABLE = "payload_table"

_DELETED = text(
    """SELECT deployment_id, details->'payload_table'->0->>0 AS location, details->'payload_table'->0->>1 AS format
       FROM activities WHERE action = 'deployment.deleted' AND details ? 'payload_table' ORDER BY no"""
)


def payload_tables(session: Session) -> dict[int, tuple[str, PayloadTable]]:
    """Returns ids and payload tables by deployment number."""
    rows = session.execute(select(DeploymentRow.no, DeploymentRow.id, DeploymentRow.record_tables))
    found = {no: (deployment_id, read_payload_table(stored)) for no, deployment_id, stored in rows}
    return {no: (deployment_id, table) for no, (deployment_id, table) in found.items() if table is not None}


def deleted_tables(session: Session) -> list[tuple[str, PayloadTable]]:
    return [(row.deployment_id, PayloadTable(location=row.location, format=TableFormat(row.format))) for row in session.execute(_DELETED)]
