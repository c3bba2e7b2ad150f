"""Erases the records of one person, with what was derived, and writes the receipt.

Figures and series stay, and digests of the ids: a copy still in a spool is refused when it arrives.
"""

from datetime import timedelta
from pathlib import Path

import structlog
from sqlalchemy.orm import Session

from ..database.engine import Database
from ..sources.tables.own_files import NO_PLACES, OwnPlaces, erase_from_files
from .expire import BATCH_RECORDS, erase_in_batches, finish_aged
from .record_traces import SearchPlace, find_person
from .policy import Erasure, ErasureKind, ErasureState
from .queries import (
    begin_erasure,
    count_erased,
    has_settled,
    lock_open,
    open_erasures,
    payload_tables,
    read_selector,
)
from .record_traces import erase_people, forget_quotations, remember_ids

LOOKED_THROUGH = 5000

SETTLED_AFTER = timedelta(seconds=15)
"""Writes end within 10 seconds, so none is open that began before an erasure did."""

log = structlog.get_logger("evenhand.retention")


def perform_erasures(
    database: Database,
    places: OwnPlaces = NO_PLACES,
    *,
    settled_after: timedelta = SETTLED_AFTER,
    batch_records: int = BATCH_RECORDS,
) -> list[Erasure]:
    """Returns those that finished. Others wait for open writes, or for a hold.

    `places` have flags of records in tables, and kept answers about them.
    """
    with database.transaction() as session:
        waiting = open_erasures(session, ErasureKind.PERSON)
        tables = payload_tables(session)
    finished = []
    for no, deployment_no in waiting:
        folder = places.folder(*tables[deployment_no]) if deployment_no in tables else None
        ended = _perform(database, no, deployment_no, folder, settled_after, batch_records)
        if ended is not None:
            finished.append(ended)
    return finished


def _perform(
    database: Database,
    no: int,
    deployment_no: int,
    folder: Path | None,
    settled_after: timedelta,
    batch_records: int,
) -> Erasure | None:
    ended: Erasure | None = None
    after: SearchPlace | None = None
    is_clean = True

    def erase(session: Session) -> bool:
        nonlocal ended, after, is_clean
        erasure = lock_open(session, no)
        if erasure is None:  # another process has it
            return False
        selector = read_selector(session, no)
        if erasure.state is ErasureState.QUEUED:
            # Before deletion: a record that comes in meanwhile is refused, or found below.
            remember_ids(session, deployment_no, selector.record_ids)
            begin_erasure(session, no)
            return True
        person = find_person(
            session, deployment_no, selector, after=after, looked_through=LOOKED_THROUGH, limit=batch_records
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
            ended = finish_aged(session, no)
        return False

    if not erase_in_batches(database, deployment_no, erase):
        log.info("erasure_on_hold", deployment_no=deployment_no)
    return ended
