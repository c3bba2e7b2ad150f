"""Lists the files of batch deployments, and queues what changed files make due."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import structlog

from ..base.errors import InvalidInput, SetupError
from ..database.engine import Database
from ..deployments.list_table_files import find_changes, read_hours
from ..deployments.listed_file_queries import (
    PAYLOAD,
    FiledDeployment,
    deployments_with_tables,
    queue_changed_batches,
    queue_changed_spans,
    store_listing,
    stored_files,
)
from ..deployments.monitor.queries import find_monitor
from ..deployments.queries import hold_deployment
from ..domain.check import Span
from ..domain.deployment import PayloadTable, TableFormat
from ..domain.monitor import Schedule
from ..evidence.queries.hour_counts import counted_hours, last_counted
from ..sources.stored.window_queries import note_changed_hours
from ..sources.tables.allowed_locations import Root
from .looks import delayed_as

log = structlog.get_logger(__name__)


def look_for_late_files(database: Database, roots: Sequence[Root]) -> int:
    """Lists every table and queues the checks of what has changed; returns their number."""
    queued = 0
    with delayed_as("listing_failed"):
        with database.transaction() as session:
            deployments = deployments_with_tables(session)
        for deployment in deployments:
            for side, table in deployment.tables.items():
                if table.format is not TableFormat.JDBC:
                    queued += _list_table(database, deployment, side, roots)
    if queued:
        log.info("checks_queued_for_files", count=queued)
    return queued


def _list_table(database: Database, deployment: FiledDeployment, side: str, roots: Sequence[Root]) -> int:
    table = deployment.tables[side]
    with database.transaction() as session:
        stored = stored_files(session, deployment.no, side)
        counted_until = last_counted(session, deployment.no)
    try:
        # Outside of a transaction: it may take minutes.
        changes = find_changes(table, roots, side, stored)
    except (InvalidInput, SetupError) as error:
        log.warning("table_not_listed", deployment=deployment.id, reason=str(error))
        return 0
    if not changes.files:
        return 0
    hours: set[datetime] = set()
    if isinstance(table, PayloadTable) and counted_until is not None:
        hours.update(*(read_hours(table, file, counted_until) for file in changes.new))
    with database.transaction() as session:
        # Another worker may have listed it meanwhile.
        if (
            not hold_deployment(session, deployment.no, alone=True)
            or stored_files(session, deployment.no, side) != stored
        ):
            return 0
        store_listing(
            session, deployment.no, side, new=changes.new, removed=[file.path for file in changes.replaced]
        )
        monitor = find_monitor(session, deployment.no)
        if monitor is not None:
            # A label counts in the hour of its record, which its horizon says how far back to look for.
            horizon = timedelta(hours=0 if side == PAYLOAD else monitor.evidence.label_horizon_hours)
            spans = [
                Span(start=file.oldest - horizon, end=file.newest)
                for file in (changes.replaced if side == PAYLOAD else changes.files)
                if file.oldest is not None and file.newest is not None
            ]
            note_changed_hours(
                session, deployment.no, sorted({*hours, *counted_hours(session, deployment.no, spans)})
            )
        if monitor is None or monitor.schedule is Schedule.OFF:
            return 0
        if monitor.schedule is Schedule.BATCH:
            return queue_changed_batches(
                session,
                deployment.no,
                sorted({file.batch for file in changes.files if file.batch is not None}),
            )
        return queue_changed_spans(session, deployment.no, side, changes.files)
