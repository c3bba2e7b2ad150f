"""First records of people, by a digest of the person's id."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ..tables import EvidencePersonRow


@dataclass(frozen=True, slots=True, order=True)
class Placed:
    """Place of a record in the order of the log."""

    logged_at: datetime
    record_no: int


def first_records(session: Session, era_no: int, people: Sequence[bytes]) -> Mapping[bytes, Placed]:
    rows = session.scalars(select(EvidencePersonRow).where(EvidencePersonRow.era_no == era_no, EvidencePersonRow.person.in_(people)))
    return {row.person: Placed(row.logged_at, row.record_no) for row in rows.all()}


def store_first_records(session: Session, era_no: int, found: Mapping[bytes, Placed]) -> None:
    rows = [
        {"era_no": era_no, "person": person, "logged_at": placed.logged_at, "record_no": placed.record_no}
        for person, placed in sorted(found.items())
    ]
    if not rows:
        return
    insertion = insert(EvidencePersonRow)
    kept = {name: insertion.excluded[name] for name in ("logged_at", "record_no")}
    session.execute(insertion.on_conflict_do_update(index_elements=["era_no", "person"], set_=kept), rows)
    session.expire_all()
