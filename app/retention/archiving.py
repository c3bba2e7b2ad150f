"""Moves a month of one deployment to files and back.

To files: note → files, through to the disk → read back and compared → in one transaction the rows deleted and the note changed → the
month's partition dropped if nothing is left in it. The transaction compares the rows that it deletes with those in the files, and does
nothing if they differ. Back: files compared with the hashes in the database → in one transaction the rows inserted and the note changed.
A process that dies leaves the month in the database or in files, whole; the same command goes on.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

import psycopg
import structlog
from sqlalchemy.orm import Session

from ..domain.archives import MANIFEST, ArchivedTable, ArchiveState, CalendarMonth, MonthArchive, manifest_of
from ..domain.retention import digest_id
from ..errors import Conflict, NotFound, SetupError
from ..store.checks.checks import current_time
from ..store.database.arrow import ArrowReader, arrow_reader
from ..store.database.engine import Database
from ..store.database.migrate import newest_revision
from ..store.database.partitions import ensure_months
from ..store.evidence.eras import lock_evidence
from ..store.people.audit_events import insert_event
from ..store.records.window import match_pending_feedback
from ..store.retention.archives import (
    MOVED,
    MonthPlace,
    RowSum,
    archive_of,
    columns_of_table,
    erased_digests,
    forget_problems,
    labels_reach,
    leave_out,
    lock_deployment,
    make_room,
    newest_record_of_month,
    note_back,
    note_stored,
    note_storing,
    put_back,
    remove_rows,
    rows_of_month,
    sum_of_brought,
    sum_of_month,
)
from ..store.retention.months import drop_emptied_month
from ..store.retention.warmth import find_warmth
from .archive_files import (
    check_files,
    failures_named,
    folder_of,
    hash_file,
    holds_rows,
    prepare_folder,
    stored_rows,
    write_manifest,
    write_rows,
)
from .pacing import paced

ACTOR: Final = "command line"
MOST_WRITES: Final = 5
"""Times that the files are written, because records of the month were added or erased meanwhile, before the command gives up."""

MOST_DROPS: Final = 100
"""Times that the emptied partition is tried to be dropped; each waits a moment for its lock, and keeps no writer longer."""

log = structlog.get_logger("evenhand.retention")


class _MonthChanged(Exception):
    """Rows of the month are not those in the files any more."""


@dataclass(frozen=True, slots=True)
class BroughtBack:
    """A month that is in the database again: records and labels of erased people were left out, `sent_again` labels came meanwhile."""

    archive: MonthArchive
    erased: int = 0
    sent_again: int = 0


def store_month(database: Database, place: MonthPlace, base: Path) -> MonthArchive:
    """Moves the month to files in a folder below `base`; returns its note. A month that is stored already is left as it is.

    Raises:
        NotFound: the deployment has nothing of the month.
        Conflict: the month is still needed in the database, or the folder holds something else.
        SetupError: the files cannot be written, or are not read back as they were written.
    """
    with database.transaction() as session:
        lock_deployment(session, place.deployment_no)
        match_pending_feedback(session, place.deployment_no)  # labels that were sent before their records
        archive = archive_of(session, place)
        if archive is not None and archive.state is ArchiveState.STORED:
            return archive
        deployment_id = _require_cold(session, place)
        folder = folder_of(base, deployment_id, place.month)
        _require_own(archive, folder)
        note_storing(session, place, str(folder))
    for _ in range(MOST_WRITES):
        with failures_named(folder):
            tables = write_month(database, place, deployment_id, folder)
        with suppress(_MonthChanged):
            return remove_month(database, place, tables)
    raise Conflict(
        f"Records or labels of {place.month} of {deployment_id} kept arriving or being erased while they were written to files,"
        " so all are still in the database. Run the command again when the import or erasure has ended."
    )


def write_month(database: Database, place: MonthPlace, deployment_id: str, folder: Path) -> Sequence[ArchivedTable]:
    """Writes the month's files and reads them back; returns what they hold. Everything is read at one moment of the database.

    Raises:
        NotFound: the deployment has nothing of the month.
        SetupError: a file does not hold what was written to it.
    """
    with arrow_reader(database) as reader:
        sums = {table: sum_of_month(reader, place, table) for table in MOVED}
        if not any(one.rows for one in sums.values()):
            raise NotFound("record or label in the database of", f"{deployment_id} in {place.month}")
        prepare_folder(folder)
        tables = [_write_table(reader, place, table, sums[table], folder) for table in MOVED]
    write_manifest(folder, manifest_of(deployment_id, place.month, tables, schema_revision=newest_revision()))
    return tables


def _write_table(reader: ArrowReader, place: MonthPlace, table: str, found: RowSum, folder: Path) -> ArchivedTable:
    path = folder / f"{table}.parquet"
    with rows_of_month(reader, place, table) as rows:
        write_rows(path, rows)
    with rows_of_month(reader, place, table) as rows:
        if not holds_rows(path, rows):
            raise SetupError(
                f"{path} does not hold what was written to it, so nothing was removed from the database. Look at the disk, and name a"
                " folder on another one."
            )
    return ArchivedTable(name=table, columns=columns_of_table(table), rows=found.rows, digest=found.digest, sha256=hash_file(path))


def remove_month(database: Database, place: MonthPlace, tables: Sequence[ArchivedTable]) -> MonthArchive:
    """Deletes the rows that are in the files, and notes that they are there, in one transaction.

    Raises:
        _MonthChanged: the rows are not those in the files; none was deleted.
        Conflict: the month is needed in the database meanwhile.
    """
    with database.transaction() as session:
        lock_evidence(session, place.deployment_no)
        lock_deployment(session, place.deployment_no)
        _require_cold(session, place)
        labels, newest = labels_reach(session, place), newest_record_of_month(session, place)
        for table in tables:
            if remove_rows(session, place, table.name) != RowSum(table.rows, table.digest):
                raise _MonthChanged
        note_stored(session, place, tables, labels=labels, newest=newest)
        stored = _noted(session, place)
        _audit(session, "archive.stored", stored)
    log.info("month_stored", deployment=stored.deployment_id, month=str(place.month), folder=stored.folder)
    return stored


def drop_emptied(database: Database, month: CalendarMonth) -> bool:
    """Drops the month's partition if nothing is left in it, in a moment in which no transaction uses the log; returns whether it is gone.

    A late record of the month makes a new one.
    """
    for _ in range(MOST_DROPS):
        with paced():
            ended = drop_emptied_month(database, month)
        if ended is not None:
            return ended
    return False


def bring_back(database: Database, place: MonthPlace, base: Path | None = None) -> BroughtBack:
    """Moves the month back into the database, from its folder or from the one below `base`. Its files stay; nothing reads them any more.

    Raises:
        NotFound: the month was never stored.
        SetupError: a file is missing, was changed, or is of a newer version.
    """
    with database.transaction() as session:
        archive = _noted(session, place)
        if archive.state is not ArchiveState.STORED:
            return BroughtBack(archive)
    folder = Path(archive.folder) if base is None else folder_of(base, archive.deployment_id, place.month)
    with failures_named(folder):
        check_files(archive, folder)
        _require_known(archive)
        with database.transaction() as session:
            ensure_months(session, [(place.month.year, place.month.month)])
        brought = insert_month(database, place, archive, folder)
    log.info("month_brought_back", deployment=archive.deployment_id, month=str(place.month), erased=brought.erased)
    return brought


def insert_month(database: Database, place: MonthPlace, archive: MonthArchive, folder: Path) -> BroughtBack:
    """Inserts the rows of the files, and notes that they are in the database, in one transaction. Records of erased people are left out."""
    with database.transaction() as session:
        lock_evidence(session, place.deployment_no)
        lock_deployment(session, place.deployment_no)
        if _noted(session, place).state is not ArchiveState.STORED:
            return BroughtBack(_noted(session, place))
        make_room(session)
        for table in archive.tables:
            _copy_rows(session, folder, table)
            if sum_of_brought(session, table.name, table.columns) != RowSum(table.rows, table.digest):
                raise SetupError(
                    f"The rows of {folder / table.file} are not those that left the database, so nothing of {place.month} of"
                    f" {archive.deployment_id} was brought back. Use the version of Evenhand that stored the month."
                )
        erased = _leave_out_erased(session, place, archive, folder)
        sent_again = put_back(session, place, archive.tables)
        forget_problems(session, place.deployment_no)
        note_back(session, place)
        back = _noted(session, place)
        _audit(session, "archive.brought_back", back, left_out=erased, sent_again=sent_again)
    return BroughtBack(back, erased, sent_again)


def _copy_rows(session: Session, folder: Path, table: ArchivedTable) -> None:
    connection = cast("psycopg.Connection", session.connection().connection.driver_connection)
    with connection.cursor() as cursor, cursor.copy(f"COPY brought_{table.name} ({', '.join(table.columns)}) FROM STDIN".encode()) as copy:
        for row in stored_rows(folder, table):
            copy.write_row(row)


def _leave_out_erased(session: Session, place: MonthPlace, archive: MonthArchive, folder: Path) -> int:
    erased = erased_digests(session, place.deployment_no)
    if not erased:
        return 0
    numbers, ids = [], []
    for table in archive.tables:
        for named, number in (("record_id", "record_no"), ("feedback_id", "record_no")):
            if named in table.columns:
                at, no = list(table.columns).index(named), list(table.columns).index(number)
                gone = [row for row in stored_rows(folder, table) if digest_id(row[at]) in erased]
                numbers += [row[no] for row in gone]
                ids += [row[at] for row in gone]
    return leave_out(session, record_nos=numbers, ids=ids)


def _noted(session: Session, place: MonthPlace) -> MonthArchive:
    found = archive_of(session, place)
    if found is None:
        raise NotFound("stored month", f"{place.month} of the deployment; evenhand archives list names those that there are")
    return found


def _require_cold(session: Session, place: MonthPlace) -> str:
    """Returns the id of the deployment if nothing needs the month in the database."""
    warmth = find_warmth(session, place, current_time(session))
    if warmth.reason is not None:
        raise Conflict(f"{place.month} of {warmth.deployment_id} stays in the database: {warmth.reason}")
    return warmth.deployment_id


def _require_own(archive: MonthArchive | None, folder: Path) -> None:
    """Returns if the folder is free, or holds the files that this month had before."""
    is_known = archive is not None and archive.folder == str(folder)
    if archive is not None and archive.state is ArchiveState.STORING and not is_known and Path(archive.folder).exists():
        raise Conflict(
            f"{archive.month} of {archive.deployment_id} was being stored in {archive.folder}, and its files hold records."
            " Name that folder again, or delete it first. Everything is still in the database."
        )
    if not is_known and (folder / MANIFEST).exists():
        raise Conflict(f"{folder} holds the files of another month or installation, which are not replaced. Name another folder.")


def _require_known(archive: MonthArchive) -> None:
    unknown = {table.name for table in archive.tables if set(table.columns) - set(columns_of_table(table.name))}
    if unknown:
        raise SetupError(
            f"The files of {archive.month} of {archive.deployment_id} have columns that this version of Evenhand does not know, in"
            f" {', '.join(sorted(unknown))}. Use the version that stored the month, or a newer one."
        )


def _audit(session: Session, action: str, archive: MonthArchive, **counts: int) -> None:
    details = {
        "folder": archive.folder,
        "rows": {one.name: one.rows for one in archive.tables},
        "sha256": {one.name: one.sha256 for one in archive.tables},
        **counts,
    }
    insert_event(session, actor=ACTOR, action=action, deployment_id=archive.deployment_id, subject=str(archive.month), details=details)
