"""Months of records on their way to files and back: reading and removing their rows, and the note of where they are."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import pyarrow as pa
from sqlalchemy import select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ...domain.archives import ArchivedTable, ArchiveState, CalendarMonth, MonthArchive, read_table_document, table_document
from ...domain.retention import months_before
from ...errors import Conflict
from ..database.arrow import ArrowReader
from ..database.engine import Database
from ..tables import ArchivedMonthRow, DeploymentRow, Row
from .policies import policy_of

ARCHIVING: Final = 4540261152
"""The advisory lock of the commands that move months."""

_POLICIES: Final = 4540261150
"""The lock under which policies are applied: they must not drop a month into which records are being written back."""

_BUSY: Final = "Another command moves a month, or a worker applies the policies of retention. Nothing was done; try again in a moment."

MOVED: Final = ("counterfactuals", "feedback_records", "payload_records")
"""The tables whose rows move, those first that are found through others."""

_MINE: Final = {
    "payload_records": "t.deployment_no = {no} AND t.logged_at >= {start} AND t.logged_at < {end}",
    "feedback_records": "t.deployment_no = {no} AND t.record_logged_at >= {start} AND t.record_logged_at < {end}",
    "counterfactuals": """t.target_no IN (SELECT no FROM copy_targets WHERE deployment_no = {no}) AND t.record_no IN (
        SELECT record_no FROM payload_records WHERE deployment_no = {no} AND logged_at >= {start} AND logged_at < {end})""",
}
_IN_SQL: Final = {"no": ":no", "start": ":start", "end": ":end"}
_IN_READER: Final = {"no": "$1", "start": "$2", "end": "$3"}

# Seven bytes of each row's hash, added up: rows are in no order, and a sum of bigints has no limit in Postgres.
_DIGEST: Final = """count(*) AS rows, coalesce(sum(('x' || encode(substr(sha256(convert_to(ROW({columns})::text, 'UTF8')), 1, 7), 'hex'))
    ::bit(56)::bigint), 0)::text AS digest"""

# Settings of a server or a role change how rows are spelled.
_SPELLING: Final = ("SET LOCAL DateStyle = 'ISO, MDY'", "SET LOCAL extra_float_digits = 1", "SET LOCAL TimeZone = 'UTC'")


@dataclass(frozen=True, slots=True)
class RowSum:
    """Number of rows, and their digest."""

    rows: int
    digest: str


@dataclass(frozen=True, slots=True)
class MonthPlace:
    """One month of one deployment."""

    deployment_no: int
    month: CalendarMonth

    @property
    def values(self) -> dict[str, Any]:
        """Returns the parameters of the statements about it."""
        return {"no": self.deployment_no, "start": self.month.start, "end": self.month.end}


@contextmanager
def alone(database: Database) -> Iterator[None]:
    """Runs the block while no other process moves months or applies policies.

    Raises:
        Conflict: another one does.
    """
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        held: list[int] = []
        try:
            for lock in (ARCHIVING, _POLICIES):
                if not connection.scalar(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": lock}):
                    raise Conflict(_BUSY)
                held.append(lock)
            yield
        finally:
            for lock in held:
                connection.execute(text("SELECT pg_advisory_unlock(:lock)"), {"lock": lock})


def archiving_since(session: Session) -> datetime | None:
    """Returns since when a command keeps policies from being applied because it moves months; None: none does."""
    found: datetime | None = session.scalar(
        text(
            """SELECT min(coalesce(a.backend_start, now())) FROM pg_locks l LEFT JOIN pg_stat_activity a USING (pid)
               WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
                 AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
                 AND (CAST(l.classid AS bigint) << 32) + CAST(l.objid AS bigint) = :lock"""
        ),
        {"lock": ARCHIVING},
    )
    return found


def columns_of_table(name: str) -> list[str]:
    """Returns the columns of a moved table."""
    return [column.name for column in Row.metadata.tables[name].columns]


def sum_of_month(reader: ArrowReader, place: MonthPlace, table: str) -> RowSum:
    """Returns the number and digest of the month's rows of a table, at the moment that the reader sees."""
    for setting in _SPELLING:
        reader.set(setting)
    columns = ", ".join(f"t.{column}" for column in columns_of_table(table))
    statement = f"SELECT {_DIGEST.format(columns=columns)} FROM {table} t WHERE {_MINE[table].format(**_IN_READER)}"  # noqa: S608 - constants
    found = reader.table(statement, [place.deployment_no, place.month.start, place.month.end])
    return RowSum(found["rows"][0].as_py(), found["digest"][0].as_py())


def rows_of_month(reader: ArrowReader, place: MonthPlace, table: str) -> AbstractContextManager[pa.RecordBatchReader]:
    """Yields the month's rows of a table in the order of their key, JSON as text."""
    described = Row.metadata.tables[table]
    spelled = ", ".join(f"t.{one.name}::text AS {one.name}" if _is_json(table, one.name) else f"t.{one.name}" for one in described.columns)
    order = ", ".join(f"t.{one.name}" for one in described.primary_key.columns)
    statement = f"SELECT {spelled} FROM {table} t WHERE {_MINE[table].format(**_IN_READER)} ORDER BY {order}"  # noqa: S608 - constants
    return reader.batches(statement, [place.deployment_no, place.month.start, place.month.end])


def remove_rows(session: Session, place: MonthPlace, table: str) -> RowSum:
    """Deletes the month's rows of a table; returns the number and digest of exactly those."""
    _spell(session)
    columns = columns_of_table(table)
    gone = f"DELETE FROM {table} t WHERE {_MINE[table].format(**_IN_SQL)} RETURNING {', '.join(f't.{one}' for one in columns)}"  # noqa: S608 - constants
    statement = f"WITH gone AS ({gone}) SELECT {_DIGEST.format(columns=', '.join(columns))} FROM gone"  # noqa: S608 - constants
    row = session.execute(text(statement), place.values).one()
    return RowSum(row.rows, row.digest)


def newest_record_of_month(session: Session, place: MonthPlace) -> datetime | None:
    """Returns when the month's newest record in the database was logged; None if there is none."""
    statement = f"SELECT max(t.logged_at) FROM payload_records t WHERE {_MINE['payload_records'].format(**_IN_SQL)}"  # noqa: S608 - constants
    found: datetime | None = session.scalar(text(statement), place.values)
    return found


def labels_reach(session: Session, place: MonthPlace) -> Sequence[datetime | None]:
    """Returns when the first and the last label of the month's records became usable; None twice if there is none."""
    statement = f"SELECT min(t.usable_at), max(t.usable_at) FROM feedback_records t WHERE {_MINE['feedback_records'].format(**_IN_SQL)}"  # noqa: S608 - constants
    return list(session.execute(text(statement), place.values).one())


def make_room(session: Session) -> None:
    """Makes temporary tables for the rows that come back; they end with the transaction."""
    _spell(session)
    for table in MOVED:
        session.execute(text(f"CREATE TEMP TABLE brought_{table} (LIKE {table} INCLUDING DEFAULTS) ON COMMIT DROP"))


def sum_of_brought(session: Session, table: str, columns: Sequence[str]) -> RowSum:
    """Returns the number and digest of the rows that came back."""
    row = session.execute(text(f"SELECT {_DIGEST.format(columns=', '.join(columns))} FROM brought_{table}")).one()  # noqa: S608 - constants
    return RowSum(row.rows, row.digest)


def leave_out(session: Session, *, record_nos: Sequence[int], ids: Sequence[str]) -> int:
    """Deletes the rows of erased records from those that came back; returns how many records and labels they are."""
    values = {"numbers": [*record_nos], "ids": [*ids]}
    session.execute(
        text("DELETE FROM brought_counterfactuals WHERE record_no = ANY(CAST(:numbers AS bigint[]))"), {"numbers": [*record_nos]}
    )
    statements = (
        "DELETE FROM brought_feedback_records WHERE feedback_id = ANY(CAST(:ids AS text[])) OR record_no = ANY(CAST(:numbers AS bigint[]))",
        "DELETE FROM brought_payload_records WHERE record_no = ANY(CAST(:numbers AS bigint[]))",
    )
    return sum(session.execute(text(one), {k: v for k, v in values.items() if f":{k}" in one}).rowcount for one in statements)  # type: ignore[attr-defined]


def put_back(session: Session, place: MonthPlace, tables: Sequence[ArchivedTable]) -> int:
    """Inserts the rows that came back; returns the number of labels that were sent again meanwhile.

    Of such a label the first one counts, as if it had been there. The hours of labels that came meanwhile are noted as changed.
    """
    session.execute(
        text(
            f"""INSERT INTO changed_hours (deployment_no, hour)
                SELECT DISTINCT t.deployment_no, date_trunc('hour', t.record_logged_at, 'UTC') FROM feedback_records t
                WHERE {_MINE["feedback_records"].format(**_IN_SQL)}"""  # noqa: S608 - constants
        ),
        place.values,
    )
    again = 0
    for table in tables:
        keys = [one.name for one in Row.metadata.tables[table.name].primary_key.columns]
        if table.name != "payload_records":  # the ids of records stayed taken
            same = " AND ".join(f"t.{key} = b.{key}" for key in keys)
            gone = session.execute(text(f"DELETE FROM {table.name} t USING brought_{table.name} b WHERE {same}"))  # noqa: S608 - constants
            again += gone.rowcount if table.name == "feedback_records" else 0  # type: ignore[attr-defined]
        columns = ", ".join(table.columns)
        session.execute(text(f"INSERT INTO {table.name} ({columns}) SELECT {columns} FROM brought_{table.name} ORDER BY {', '.join(keys)}"))  # noqa: S608 - constants
    return again


def forget_problems(session: Session, deployment_no: int) -> None:
    """Lets evidence be counted again that waited for a month."""
    session.execute(
        text("UPDATE evidence_eras SET problem = NULL WHERE deployment_no = :no AND problem LIKE 'months: %'"), {"no": deployment_no}
    )


def erased_digests(session: Session, deployment_no: int) -> Collection[bytes]:
    """Returns the digests of the ids that were erased on request."""
    rows = session.scalars(text("SELECT digest FROM erased_ids WHERE deployment_no = :no"), {"no": deployment_no})
    return {bytes(digest) for digest in rows}


def deployments_with_month(session: Session, month: CalendarMonth) -> list[str]:
    """Returns the ids of the deployments that have records or labels of that month in the database."""
    rows = session.scalars(
        text(
            """SELECT id FROM deployments d WHERE
               EXISTS (SELECT FROM payload_records r WHERE r.deployment_no = d.no AND r.logged_at >= :start AND r.logged_at < :end)
               OR EXISTS (SELECT FROM feedback_records f
                          WHERE f.deployment_no = d.no AND f.record_logged_at >= :start AND f.record_logged_at < :end)
               ORDER BY id"""
        ),
        {"start": month.start, "end": month.end},
    )
    return list(rows)


def lock_deployment(session: Session, deployment_no: int) -> None:
    """Keeps erasures and the deletion of the deployment out until the transaction ends. Writers of records do not wait."""
    session.execute(text("SELECT FROM deployments WHERE no = :no FOR NO KEY UPDATE"), {"no": deployment_no})


def archive_of(session: Session, place: MonthPlace) -> MonthArchive | None:
    """Returns the note of the month; None if it was never stored."""
    found = find_archives(session, place.month, deployment_no=place.deployment_no)
    return found[0] if found else None


def find_archives(session: Session, month: CalendarMonth | None = None, *, deployment_no: int | None = None) -> list[MonthArchive]:
    """Returns the months that are in files or were, oldest first."""
    statement = select(ArchivedMonthRow, DeploymentRow.id).join(DeploymentRow, DeploymentRow.no == ArchivedMonthRow.deployment_no)
    if month is not None:
        statement = statement.where(ArchivedMonthRow.month == month.start)
    if deployment_no is not None:
        statement = statement.where(ArchivedMonthRow.deployment_no == deployment_no)
    rows = session.execute(statement.order_by(ArchivedMonthRow.month, DeploymentRow.id).execution_options(populate_existing=True))
    return [
        MonthArchive(
            deployment_no=row.deployment_no,
            deployment_id=name,
            month=CalendarMonth.of(row.month),
            state=ArchiveState(row.state),
            folder=row.folder,
            tables=[read_table_document(one) for one in row.tables or ()],
            labels_from=row.labels_from,
            labels_until=row.labels_until,
            changed_at=row.changed_at,
        )
        for row, name in rows
    ]


def months_past_retention(session: Session, now: datetime) -> list[MonthArchive]:
    """Returns the months in files that a policy would have erased: those that end before a deployment's retention of records."""
    away = [one for one in find_archives(session) if one.state is ArchiveState.STORED]
    months = {one.deployment_no: policy_of(session, one.deployment_no).records_months for one in away}
    kept = {no: months_before(now, count) for no, count in months.items() if count is not None}
    return [one for one in away if one.deployment_no in kept and one.month.end <= kept[one.deployment_no]]


def note_storing(session: Session, place: MonthPlace, folder: str) -> None:
    """Notes that the month's files are being written to that folder; nothing has left the database."""
    values = {"state": ArchiveState.STORING.value, "folder": folder}
    insertion = insert(ArchivedMonthRow).values(deployment_no=place.deployment_no, month=place.month.start, **values)
    session.execute(
        insertion.on_conflict_do_update(index_elements=["deployment_no", "month"], set_={**values, "changed_at": text("now()")})
    )


def note_stored(
    session: Session, place: MonthPlace, tables: Sequence[ArchivedTable], *, labels: Sequence[datetime | None], newest: datetime | None
) -> None:
    """Notes that the month is in its files, in the transaction that removes its rows; `newest` is the time of its newest record."""
    times = {"labels_from": labels[0], "labels_until": labels[1], "newest_record_at": newest}
    values = {"tables": [table_document(one) for one in tables], **times}
    _note(session, place, ArchiveState.STORED, **values)


def note_back(session: Session, place: MonthPlace) -> None:
    """Notes that the month is in the database, in the transaction that inserts its rows."""
    _note(session, place, ArchiveState.BACK)


def _note(session: Session, place: MonthPlace, state: ArchiveState, **values: Any) -> None:  # noqa: ANN401 - of any column
    mine = (ArchivedMonthRow.deployment_no == place.deployment_no, ArchivedMonthRow.month == place.month.start)
    statement = update(ArchivedMonthRow).where(*mine).values(state=state.value, changed_at=text("now()"), **values)
    session.execute(statement.execution_options(synchronize_session=False))


def _spell(session: Session) -> None:
    for setting in _SPELLING:
        session.execute(text(setting))


def _is_json(table: str, column: str) -> bool:
    return Row.metadata.tables[table].columns[column].type.__class__.__name__ == "JSONB"
