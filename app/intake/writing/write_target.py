"""Facts about a deployment that records are checked against, with their row version."""

from dataclasses import field
from datetime import date

from sqlalchemy import String, literal_column, select

from ...base.values import frozen_by_name
from ...database.binary_rows import read_row
from ...database.engine import Database, Sealer
from ...database.tables import DeploymentRow, DeploymentSchemaRow, ErasedIdRow
from ...deployments.monitor.queries import find_monitor
from ...domain.deployment import Endpoint, OutputFields, ProblemType, RecordSchema
from ...domain.monitor import OutcomeRule


@frozen_by_name
class Target:
    """A deployment as ingestion sees it. `row_version` changes with every change of its row."""

    no: int
    id: str
    row_version: str
    problem_type: ProblemType
    schema: RecordSchema
    outputs: OutputFields
    model_revision: str
    is_logged: bool = True
    erased: frozenset[bytes] = frozenset()
    """Digests of erased ids, as `app.domain.record.digest_id` gives them."""
    column_key: bytes | None = field(default=None, repr=False)
    """Key of protected columns; None without such columns, or if no sealer was given."""
    outcomes: OutcomeRule | None = None
    endpoint: Endpoint | None = None
    earliest: date | None = None

    @property
    def lists_texts(self) -> bool:
        """Whether the outcomes of its monitor are texts, under which `1.0` is not `1`."""
        return self.outcomes is not None and isinstance(self.outcomes.favourable[0], str)


ROW_VERSION = "xmin"
"""Postgres' own version number of a row, to be compared for equality only."""


def read_target(database: Database, deployment_id: str, sealer: Sealer | None = None) -> Target | None:
    """The key of protected columns needs a sealer. Raises Unavailable."""
    if not deployment_id.isprintable():
        return None  # Postgres takes no query with such a text
    version = literal_column(f"deployments.{ROW_VERSION}::text", String)
    statement = (
        select(DeploymentRow, DeploymentSchemaRow, version)
        .join(
            DeploymentSchemaRow,
            (DeploymentSchemaRow.deployment_no == DeploymentRow.no)
            & (DeploymentSchemaRow.version == DeploymentRow.schema_version),
        )
        .where(DeploymentRow.id == deployment_id)
    )
    with database.transaction() as session:
        # The row version is read before the monitor, so that a change of the monitor in between is noticed.
        result = session.execute(statement).one_or_none()
        if result is None:
            return None
        row, schema, row_version = result
        monitor = find_monitor(session, row.no)
        return read_row(
            Target,
            row,
            row_version=row_version,
            schema=read_row(RecordSchema, schema),
            is_logged=row.record_tables is None,
            erased=frozenset(
                session.scalars(select(ErasedIdRow.digest).where(ErasedIdRow.deployment_no == row.no))
            ),
            column_key=None if sealer is None or row.column_key is None else sealer.unseal(row.column_key),
            outcomes=None if monitor is None else monitor.outcomes,
        )
