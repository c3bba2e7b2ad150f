"""Erases what is past its deployment's policy, in whole months where possible.

Every batch is a transaction that looks for a legal hold first; a process that dies leaves nothing half done.
"""

import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

import structlog
from sqlalchemy import text
from sqlalchemy.orm import Session

from ..access.audit.event_queries import insert_event
from ..base.clock import monotonic_seconds
from ..base.telemetry.prometheus import erased_rows
from ..base.values import frozen
from ..database.engine import Database, current_time
from ..database.tables import ErasureRow
from ..sources.tables.own_files import NO_PLACES, FlagFile, OwnPlaces, delete_all, delete_answers
from .policy import MONTHS, ErasureKind, subtract_months
from .queries import (
    AppliedPolicy,
    count_aged,
    find_aged_flag_files,
    finish_erasure,
    forget_flag_files,
    list_open_erasures,
    may_erase,
    note_answers_erased,
    read_deleted_tables,
    read_payload_tables,
    read_policies_to_apply,
)
from .record_traces import StoredPlace, erase_aged, erase_answers, erase_labels, find_aged, forget_quotations

_MONTH_TABLE = re.compile(r"payload_records_(\d{4})_(\d{2})")
_LOCK_MONTHS = text("SELECT pg_advisory_xact_lock(4540261127)")


@frozen
class LogMonth:
    """A partition, [start, end), read and written if `is_attached`. `is_pending`: detaching was broken off."""

    table: str
    start: datetime
    end: datetime
    is_attached: bool
    is_pending: bool


def list_log_months(session: Session) -> list[LogMonth]:
    rows = session.execute(
        text(
            """SELECT c.relname, i.inhrelid IS NOT NULL, coalesce(i.inhdetachpending, false)
               FROM pg_class c
               LEFT JOIN pg_inherits i
                   ON i.inhrelid = c.oid AND i.inhparent = 'payload_records'::regclass
               WHERE c.relkind = 'r' AND c.relname LIKE 'payload_records_%'
                   AND c.relnamespace = (
                       SELECT relnamespace FROM pg_class WHERE oid = 'payload_records'::regclass
                   )
               ORDER BY c.relname"""
        )
    )
    months = []
    for table, is_attached, is_pending in rows:
        match = _MONTH_TABLE.fullmatch(table)
        if match is not None:
            year = int(match[1])
            month = int(match[2])
            start = datetime(year, month, 1, tzinfo=UTC)
            end = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
            months.append(LogMonth(table, start, end, is_attached, is_pending))
    return months


def list_deployments_in(session: Session, month: LogMonth) -> list[int]:
    # One look into the index for each deployment.
    statement = (
        f"SELECT no FROM deployments d WHERE EXISTS (SELECT FROM {month.table} r WHERE "  # noqa: S608 - a table of ours
        "r.deployment_no = d.no) ORDER BY no"
    )
    return list(session.scalars(text(statement)))


def detach_month(database: Database, month: LogMonth) -> None:
    """Waits for readers; nobody waits for it. Raises DBAPIError if broken off; the next call finishes it."""
    # Postgres allows one pending detachment of a table.
    mode = "FINALIZE" if month.is_pending else "CONCURRENTLY"
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(f"ALTER TABLE payload_records DETACH PARTITION {month.table} {mode}"))


def attach_month(session: Session, month: LogMonth) -> None:
    session.execute(_LOCK_MONTHS)
    bounds = f"FROM ('{month.start.isoformat()}') TO ('{month.end.isoformat()}')"
    session.execute(text(f"ALTER TABLE payload_records ATTACH PARTITION {month.table} FOR VALUES {bounds}"))


def drop_month(session: Session, month: LogMonth) -> None:
    session.execute(_LOCK_MONTHS)
    session.execute(text(f"DROP TABLE {month.table}"))


log = structlog.get_logger("evenhand.retention")

Place = TypeVar("Place")

BATCH_RECORDS = 500

MAX_REST_SECONDS = 1.0
"""Rest after a batch: writers of records must not notice an erasure."""


def list_answers_to_erase(
    database: Database, places: OwnPlaces, cut_offs: Mapping[int, datetime]
) -> Iterator[tuple[int, Path, datetime]]:
    """A folder is left alone while one of its deployments is on hold, or keeps answers."""
    with database.transaction() as session:
        tables = read_payload_tables(session)
    owners = defaultdict[Path, list[int]](list)
    for no, (deployment_id, table) in tables.items():
        folder = places.folder(deployment_id, table)
        if folder is not None:
            owners[folder].append(no)
    for folder, numbers in owners.items():
        if all(no in cut_offs for no in numbers):
            yield min(numbers), folder, min(cut_offs[no] for no in numbers)


def delete_left_files(database: Database, places: OwnPlaces) -> int:
    """Of deleted deployments, but not in folders of other deployments; returns how many."""
    with database.transaction() as session:
        present_tables = read_payload_tables(session)
        deleted_tables = read_deleted_tables(session)
    in_use = {places.folder(deployment_id, table) for deployment_id, table in present_tables.values()}
    count = 0
    for deployment_id, table in deleted_tables:
        folder = places.folder(deployment_id, table)
        if folder is None or folder in in_use:
            continue
        files = delete_all(folder)
        count += files
        if files:
            log.info(
                "files_of_deleted_deployment_deleted",
                deployment=deployment_id,
                folder=str(folder),
                files=files,
            )
    return count


def apply_policies(
    database: Database, places: OwnPlaces = NO_PLACES, *, batch_records: int = BATCH_RECORDS
) -> list[ErasureRow]:
    """Erases what is past its age; returns a receipt for each deployment that lost something.

    `places` have kept answers about records in tables; those of deleted deployments go, too.
    """
    with database.transaction() as session:
        now = current_time(session)
        ageing = {
            applied.deployment_no: _DeploymentAgeing(database, applied, now, batch_records)
            for applied in read_policies_to_apply(session)
        }
    _drop_whole_months(database, ageing)
    for owner in ageing.values():
        owner.erase_records()
        owner.erase_labels()
        owner.erase_answers()
        owner.erase_flag_files()
        owner.erase_quotations()
    cut_offs = {}
    for no, owner in ageing.items():
        if owner.answers_before is not None:
            cut_offs[no] = owner.answers_before
    for no, folder, before in list_answers_to_erase(database, places, cut_offs):
        ageing[no].erase_kept_answers(folder, before)
    delete_left_files(database, places)
    with database.transaction() as session:
        return [finish_and_log(session, no) for no, _ in list_open_erasures(session, ErasureKind.RETENTION)]


def finish_and_log(session: Session, no: int) -> ErasureRow:
    erasure = finish_erasure(session, no)
    details = {"kind": erasure.kind, "erased": dict(erasure.counts), "hash": erasure.hash}
    insert_event(
        session,
        actor="schedule",
        action="erasure.finished",
        deployment_id=erasure.deployment_id,
        subject=erasure.id,
        details=details,
    )
    erased_rows.labels(erasure.kind).inc(sum(erasure.counts.values()))
    log.info(
        "records_erased",
        deployment=erasure.deployment_id,
        erasure=erasure.id,
        cause=erasure.kind,
        erased=dict(erasure.counts),
    )
    return erasure


@frozen
class _DeploymentAgeing:
    """Erasure by age of one deployment, by its policy."""

    database: Database
    applied: AppliedPolicy
    now: datetime
    batch_records: int

    @property
    def no(self) -> int:
        return self.applied.deployment_no

    @property
    def records_before(self) -> datetime | None:
        return self._cut_off(self.applied.policy.records_months)

    @property
    def answers_before(self) -> datetime | None:
        own = self._cut_off(self.applied.policy.answers_months)
        return max(filter(None, (self.records_before, own)), default=None)

    def erase_records(self) -> None:
        before = self.records_before
        if before is not None:
            self.erase_in_order(partial(find_aged, before=before), partial(erase_aged, with_records=True))

    def erase_labels(self) -> None:
        before = self._cut_off(self.applied.policy.feedback_months)
        if before is None:
            return

        def erase(session: Session) -> bool:
            erased = erase_labels(session, self.no, before=before, limit=self.batch_records)
            self.count(session, erased)
            return bool(erased)

        erase_in_batches(self.database, self.no, erase)

    def erase_answers(self) -> None:
        before = self._cut_off(self.applied.policy.answers_months)
        if before is None:
            return

        def erase(session: Session, deployment_no: int, records: Sequence[StoredPlace]) -> dict[str, int]:
            note_answers_erased(session, deployment_no, records[-1].logged_at)
            return erase_answers(session, deployment_no, records)

        # Without a beginning, every run would look through all records.
        since = self.applied.answers_until
        last = None if since is None else StoredPlace(0, "", since)
        self.erase_in_order(partial(find_aged, before=before), erase, last)

    def erase_flag_files(self) -> None:
        before = self.records_before
        if before is None:
            return
        unreachable = list[str]()

        def erase(session: Session, deployment_no: int, paths: Sequence[str]) -> dict[str, int]:
            rows = {path: FlagFile(Path(path)).delete() for path in paths}
            unreachable.extend(path for path, count in rows.items() if count is None)
            forget_flag_files(session, deployment_no, [path for path in paths if rows[path] is not None])
            flags = sum(count or 0 for count in rows.values())
            return {"flagged_records": flags} if flags else {}

        self.erase_in_order(partial(find_aged_flag_files, before=before), erase, "")
        if unreachable:
            # A folder that is mounted for workers only is left to a worker.
            log.warning(
                "flag_files_out_of_reach",
                deployment=self.applied.deployment_id,
                files=len(unreachable),
                folder=str(Path(unreachable[0]).parent),
            )

    def erase_kept_answers(self, folder: Path, before: datetime) -> None:
        def erase(session: Session) -> bool:
            files, answers = delete_answers(folder, before, self.batch_records)
            self.count(session, {"kept_answers": answers} if answers else {})
            return bool(files)

        erase_in_batches(self.database, self.no, erase)

    def erase_quotations(self) -> None:
        before = self.records_before
        if before is not None:
            with self.database.transaction() as session:
                if may_erase(session, self.no):
                    self.count(session, forget_quotations(session, self.no, before=before))

    def count(self, session: Session, counts: Mapping[str, int]) -> None:
        policy = self.applied.policy
        scope = {"policy_version": policy.version} | {name: getattr(policy, name) for name in MONTHS}
        count_aged(session, self.no, self.applied.deployment_id, scope=scope, counts=counts)

    def _cut_off(self, months: int | None) -> datetime | None:
        return None if months is None else subtract_months(self.now, months)

    def erase_in_order(
        self,
        find: Callable[..., Sequence[Place]],
        erase: Callable[[Session, int, Sequence[Place]], dict[str, int]],
        last: Place | None = None,
    ) -> bool:
        """Erases what `find` finds after `last`, in batches; False where a legal hold ended it."""

        def erase_next(session: Session) -> bool:
            nonlocal last
            places = find(session, self.no, after=last, limit=self.batch_records)
            if places:
                last = places[-1]
                self.count(session, erase(session, self.no, places))
            return bool(places)

        return erase_in_batches(self.database, self.no, erase_next)


def erase_in_batches(database: Database, deployment_no: int, erase: Callable[[Session], bool]) -> bool:
    """Calls `erase` in one transaction after another until it returns False; returns False where a legal
    hold ended it. Rests as long as each took, up to `MAX_REST_SECONDS`.
    """
    while True:
        began = monotonic_seconds()
        with database.transaction() as session:
            is_held = not may_erase(session, deployment_no)
            is_over = is_held or not erase(session)
        threading.Event().wait(min(monotonic_seconds() - began, MAX_REST_SECONDS))
        if is_over:
            return not is_held


def _drop_whole_months(database: Database, ageing: Mapping[int, _DeploymentAgeing]) -> None:
    with database.transaction() as session:
        months = list_log_months(session)
    for month in months:
        # Detached ones, too: a process may have died.
        with database.transaction() as session:
            owners = list_deployments_in(session, month)
        if all(_is_past(ageing.get(no), month) for no in owners):
            # Without an owner, `all` is true: it must be past some policy.
            if not month.is_attached or any(_is_past(owner, month) for owner in ageing.values()):
                _drop_month(database, month, ageing)
        elif not month.is_attached:
            # A hold or a longer policy may have come since.
            with database.transaction() as session:
                attach_month(session, month)


def _is_past(owner: _DeploymentAgeing | None, month: LogMonth) -> bool:
    before = None if owner is None else owner.records_before
    return before is not None and month.end <= before


def _drop_month(database: Database, month: LogMonth, ageing: Mapping[int, _DeploymentAgeing]) -> None:
    if month.is_attached:
        detach_month(database, month)
    # Until it was out of the log, a historical record could be written to it.
    with database.transaction() as session:
        owners = list_deployments_in(session, month)
    find = partial(find_aged, table=month.table)
    erase = partial(erase_aged, with_records=False)
    may_drop = all(
        _is_past(ageing.get(no), month) and ageing[no].erase_in_order(find, erase) for no in owners
    )
    with database.transaction() as session:
        if may_drop and all(may_erase(session, no) for no in owners):
            for no in owners:
                count = f"SELECT count(*) FROM {month.table} WHERE deployment_no = :no"  # noqa: S608 - a table of ours
                ageing[no].count(session, {"payload_records": session.scalar(text(count), {"no": no}) or 0})
            drop_month(session, month)
            log.info("month_dropped", table=month.table, deployments=len(owners))
        else:
            attach_month(session, month)
