"""Erases the records of one person, with what was derived, and writes the receipt.

Figures and series stay, and digests of the ids: a copy still in a spool is refused when it arrives.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import structlog
from sqlalchemy.orm import Session

from ..access.audit.activity_queries import record_activity
from ..base.errors import Conflict, FieldProblem, InvalidInput, refuse
from ..base.values import MAX_TEXT, Scalar, character_problem
from ..database.engine import Database, Sealer
from ..database.tables import ErasureRow
from ..deployments.queries import Deployments
from ..domain.deployment import Column, Deployment, StorageKind, is_pseudonym
from ..domain.record import CellRefused
from ..intake.logging.protected_values import build_check
from ..sources.tables.own_files import NO_PLACES, OwnPlaces, erase_from_files
from .expire import BATCH_RECORDS, erase_in_batches, finish_and_log
from .policy import (
    MAX_ERASED_IDS,
    MAX_MONTHS,
    MONTHS,
    ErasureKind,
    ErasureState,
    RecordSelector,
    RetentionPolicy,
)
from .queries import (
    begin_erasure,
    count_erased,
    find_hold,
    has_settled,
    list_open_erasures,
    lock_open,
    read_payload_tables,
    read_selector,
    request_erasure,
)
from .record_traces import (
    SearchPlace,
    erase_people,
    find_meta_places,
    find_person,
    forget_quotations,
    remember_ids,
)

MAX_REASON_CHARACTERS = 1000


def complete_policy(sent: RetentionPolicy) -> RetentionPolicy:
    """Raises InvalidInput."""
    members = {name: getattr(sent, name) for name in MONTHS}
    stated = {name: months for name, months in members.items() if months is not None}
    preset_months = None if sent.preset is None else sent.preset.months
    policy = replace(sent, **dict.fromkeys(MONTHS, preset_months) | stated)
    problems = [
        FieldProblem(name, f"must lie between 1 and {MAX_MONTHS} months, found {value}")
        for name, value in stated.items()
        if not 1 <= value <= MAX_MONTHS
    ]
    if sent.preset is not None:
        requirement = f"must be at least the {preset_months} months of the preset {sent.preset.value}, found "
        problems += [
            FieldProblem(name, f"{requirement}{value}")
            for name, value in stated.items()
            if 1 <= value < sent.preset.months
        ]
    refuse(problems)
    max_months = policy.records_months
    if max_months is not None and policy.answers_months is not None and policy.answers_months > max_months:
        raise InvalidInput(
            "answers_months",
            "must not exceed records_months: the model's answers to copies go with their record at the "
            "latest",
        )
    return policy


def check_reason(reason: str) -> str:
    text = reason.strip()
    problem = character_problem(text) if text else "must not be blank"
    if len(text) > MAX_REASON_CHARACTERS:
        problem = f"must have at most {MAX_REASON_CHARACTERS:,} characters, found {len(text):,}"
    if problem:
        raise InvalidInput("reason", problem)
    return text


def check_selector(
    session: Session, deployment_no: int, selector: RecordSelector, column_key: bytes | None
) -> RecordSelector:
    """Each id once, or the value as stored; `column_key` is of protected columns. Raises InvalidInput."""
    if (selector.field is None) == (not selector.record_ids):
        raise InvalidInput("record_ids", "name either record_ids, or field and value")
    if selector.field is None:
        ids = selector.record_ids
        if len(ids) > MAX_ERASED_IDS:
            raise InvalidInput(
                "record_ids",
                f"must have at most {MAX_ERASED_IDS:,} ids, found {len(ids):,}; send the others in "
                "another request",
            )
        if any(not record_id or len(record_id) > MAX_TEXT or _is_broken(record_id) for record_id in ids):
            raise InvalidInput("record_ids", "must be ids of records: texts that are not empty")
        return replace(selector, record_ids=tuple(sorted(set(ids))))
    if selector.value is None:
        raise InvalidInput("value", "is required with a field")
    if isinstance(selector.value, str) and (len(selector.value) > MAX_TEXT or _is_broken(selector.value)):
        raise InvalidInput("value", f"must be text of at most {MAX_TEXT:,} characters that a record may hold")
    meta_columns = (
        [] if _is_broken(selector.field) else find_meta_places(session, deployment_no, selector.field)
    )
    if not meta_columns:
        raise InvalidInput(
            "field",
            "is not a meta field of this deployment; a person is found by a meta field or by record ids",
        )
    return _convert_to_stored_form(
        selector, selector.value, [meta_column.column for meta_column in meta_columns], column_key
    )


def order_erasure(
    session: Session,
    deployment: Deployment,
    erasure_id: str,
    selector: RecordSelector,
    *,
    sealer: Sealer,
    by: str,
) -> ErasureRow:
    """Queues an erasure. The same request again changes nothing. Raises InvalidInput and Conflict."""
    key = Deployments(session, sealer).column_keys([deployment.no]).get(deployment.no)
    selected = check_selector(session, deployment.no, selector, key)
    erasure, is_new = request_erasure(
        session, deployment.no, deployment.id, erasure_id=erasure_id, selector=selected, by=by
    )
    if is_new:
        record_activity(
            session, by, "erasure.requested", deployment, subject=erasure_id, details=selected.scope()
        )
    return erasure


def _convert_to_stored_form(
    selector: RecordSelector, value: Scalar, columns: Sequence[Column], column_key: bytes | None
) -> RecordSelector:
    kinds = {column.storage.kind if column.storage else None for column in columns}
    if StorageKind.GROUPS in kinds:
        raise InvalidInput(
            "field",
            "is stored as groups, so everybody in the person's group would be erased; name the "
            "person's record_ids",
        )
    if StorageKind.PSEUDONYM not in kinds or is_pseudonym(value):
        return selector
    newest = next(column for column in reversed(columns) if column.storage)
    try:
        pseudonym = build_check(newest, column_key)(value)
    except CellRefused as error:
        raise InvalidInput("value", str(error)) from error
    # The plain value is stored with the request only while records hold it, too.
    return replace(selector, pseudonym=pseudonym) if None in kinds else replace(selector, value=pseudonym)


def require_no_hold(session: Session, deployment_no: int, deployment_id: str, action: str) -> None:
    if find_hold(session, deployment_no) is not None:
        raise Conflict(f"{deployment_id} is on legal hold, so {action}. An admin can release the hold.")


def _is_broken(text: str) -> bool:
    return "\0" in text or any("\ud800" <= character <= "\udfff" for character in text)


MAX_SEARCHED_ROWS = 5000
"""Rows of one batch that are looked through for a person."""

SETTLED_AFTER = timedelta(seconds=15)
"""Writes end within 10 seconds, so none is open that began before an erasure did."""

log = structlog.get_logger("evenhand.retention")


def perform_erasures(
    database: Database,
    places: OwnPlaces = NO_PLACES,
    *,
    settled_after: timedelta = SETTLED_AFTER,
    batch_records: int = BATCH_RECORDS,
) -> list[ErasureRow]:
    """Performs erasures that are due, and returns those that finished. Others wait for open writes, or for a
    hold.

    `places` have flags of records in tables, and kept answers about them.
    """
    with database.transaction() as session:
        erasures = list_open_erasures(session, ErasureKind.PERSON)
        tables = read_payload_tables(session)
    finished = []
    for no, deployment_no in erasures:
        folder = places.folder(*tables[deployment_no]) if deployment_no in tables else None
        ended = _perform_erasure(database, no, deployment_no, folder, settled_after, batch_records)
        if ended is not None:
            finished.append(ended)
    return finished


def _perform_erasure(
    database: Database,
    no: int,
    deployment_no: int,
    folder: Path | None,
    settled_after: timedelta,
    batch_records: int,
) -> ErasureRow | None:
    ended: ErasureRow | None = None
    after: SearchPlace | None = None
    is_clean = True

    def erase(session: Session) -> bool:
        nonlocal ended, after, is_clean
        erasure = lock_open(session, no)
        if erasure is None:  # another process has it
            return False
        selector = read_selector(session, no)
        if erasure.state == ErasureState.QUEUED:
            # Before deletion: a record that comes in meanwhile is refused, or found below.
            remember_ids(session, deployment_no, selector.record_ids)
            begin_erasure(session, no)
            return True
        person = find_person(
            session, deployment_no, selector, after=after, max_rows=MAX_SEARCHED_ROWS, limit=batch_records
        )
        after = person.next
        if person.places or person.label_ids:
            is_clean = False
            for start in range(0, max(len(person.places), len(person.label_ids)), batch_records):
                batch = slice(start, start + batch_records)
                count_erased(
                    session,
                    no,
                    erase_people(session, deployment_no, person.places[batch], ids=person.label_ids[batch]),
                )
        if after is not None:
            return True
        if not is_clean:
            is_clean = True
            return True
        if has_settled(session, no, settled_after.total_seconds()):
            # A half of a call, and rows of files, belong to no record that can be found.
            count_erased(session, no, erase_people(session, deployment_no, (), ids=selector.record_ids))
            if folder is not None:
                count_erased(session, no, erase_from_files(folder, selector.record_ids))
            count_erased(session, no, forget_quotations(session, deployment_no, before=None))
            ended = finish_and_log(session, no)
        return False

    if not erase_in_batches(database, deployment_no, erase):
        log.info("erasure_on_hold", deployment_no=deployment_no)
    return ended
