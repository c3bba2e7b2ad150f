"""Candidates that scans found, and the counts of their hours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import and_, case, delete, func, insert, or_, select, update
from sqlalchemy.orm import Session

from ...domain.checks import Span
from ..tables import SubgroupCandidateRow, SubgroupHourRow, SubgroupScanRow


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCandidate:
    """One candidate; see `SubgroupCandidateRow`. `scan_id` and `result` are those of the scan that found it."""

    no: int
    number: int
    era_no: int
    bins: list[Any]
    values: list[Any]
    direction: str
    limit: float
    born_at: datetime
    state: str
    log_evidence: float
    confirmed_at: datetime | None
    until: datetime
    scan_id: str
    result: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubgroupHour:
    """Counts of one hour: inside the subgroup, and of all other records."""

    hour: datetime
    inside_favourable: int
    inside_records: int
    others_favourable: int
    others_records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCandidate:
    """A candidate as its scan found it; it has no number yet."""

    scan_no: int
    era_no: int
    bins: list[Any]
    values: list[Any]
    direction: str
    limit: float
    born_at: datetime


def add_candidate(session: Session, deployment_no: int, found: NewCandidate) -> int:
    """Stores the candidate under the deployment's next number, and returns the number of its row.

    Candidates are kept as long as their deployment, so the next number is one more than the largest. The caller holds a lock that keeps
    others from adding one at the same time.
    """
    largest = session.scalar(select(func.max(SubgroupCandidateRow.number)).where(SubgroupCandidateRow.deployment_no == deployment_no))
    row = {name: getattr(found, name) for name in NewCandidate.__dataclass_fields__}
    row |= {"deployment_no": deployment_no, "number": (largest or 0) + 1, "state": "candidate", "log_evidence": 0.0, "until": found.born_at}
    no: int = session.execute(insert(SubgroupCandidateRow).values(row).returning(SubgroupCandidateRow.no)).scalar_one()
    return no


def candidates_of_era(session: Session, era_no: int) -> Sequence[StoredCandidate]:
    """Returns the candidates that are followed in the era, by number."""
    return _read(session, SubgroupCandidateRow.era_no == era_no)


def candidates_to_follow(session: Session, deployment_no: int, era_no: int) -> Sequence[StoredCandidate]:
    """Returns the candidates of the era, and those of the deployment's other eras that are neither confirmed nor expired, by number."""
    is_waiting = and_(SubgroupCandidateRow.deployment_no == deployment_no, SubgroupCandidateRow.state == "candidate")
    return _read(session, or_(SubgroupCandidateRow.era_no == era_no, is_waiting))


def page_of_candidates(session: Session, deployment_no: int, *, after_number: int, limit: int) -> Sequence[StoredCandidate]:
    """Returns at most `limit` of the deployment's candidates after that number, by number."""
    return _read(session, SubgroupCandidateRow.deployment_no == deployment_no, SubgroupCandidateRow.number > after_number, limit=limit)


def first_candidates(session: Session, deployment_no: int, *, states: Sequence[str], limit: int) -> Sequence[StoredCandidate]:
    """Returns at most `limit` of the deployment's candidates: by state in the order of `states`, of each state the newest first."""
    places = case({state: place for place, state in enumerate(states)}, value=SubgroupCandidateRow.state, else_=len(states))
    order = (places, SubgroupCandidateRow.number.desc())
    return _read(session, SubgroupCandidateRow.deployment_no == deployment_no, limit=limit, order=order)


def candidate_numbers(session: Session, nos: Sequence[int]) -> dict[int, int]:
    """Returns the candidate's number for each of these rows."""
    rows = session.execute(select(SubgroupCandidateRow.no, SubgroupCandidateRow.number).where(SubgroupCandidateRow.no.in_(nos)))
    return {no: number for no, number in rows}  # noqa: C416 - rows are no pairs to mypy


def change_candidate(session: Session, no: int, **values: Any) -> None:  # noqa: ANN401 - columns of the row
    """Stores the candidate's state."""
    changed = update(SubgroupCandidateRow).where(SubgroupCandidateRow.no == no).values(values)
    session.execute(changed.execution_options(synchronize_session=False))


def replace_subgroup_hours(session: Session, candidate_no: int, span: Span, counted: Sequence[SubgroupHour]) -> None:
    """Stores the counts of the span's hours, in the place of those that were stored."""
    stored = (SubgroupHourRow.candidate_no == candidate_no, SubgroupHourRow.hour >= span.start, SubgroupHourRow.hour < span.end)
    session.execute(delete(SubgroupHourRow).where(*stored).execution_options(synchronize_session=False))
    rows = [{"candidate_no": candidate_no, **{name: getattr(one, name) for name in SubgroupHour.__dataclass_fields__}} for one in counted]
    if rows:
        session.execute(insert(SubgroupHourRow), rows)


def subgroup_hours_of(session: Session, candidate_no: int, span: Span) -> Sequence[SubgroupHour]:
    """Returns the counts of the span's hours that have records, oldest first."""
    wanted = select(SubgroupHourRow).where(
        SubgroupHourRow.candidate_no == candidate_no, SubgroupHourRow.hour >= span.start, SubgroupHourRow.hour < span.end
    )
    rows = session.scalars(wanted.order_by(SubgroupHourRow.hour).execution_options(populate_existing=True))
    return [SubgroupHour(**{name: getattr(row, name) for name in SubgroupHour.__dataclass_fields__}) for row in rows]


def later_records(session: Session, candidate_nos: Sequence[int]) -> Mapping[int, int]:
    """Returns for each of these candidates the records inside it from its birth up to the hour that its state is after.

    Those without any are left out.
    """
    row, hour = SubgroupCandidateRow, SubgroupHourRow
    is_later = and_(hour.candidate_no == row.no, hour.hour >= row.born_at, hour.hour < row.until)
    sums = select(row.no, func.sum(hour.inside_records)).join(hour, is_later).where(row.no.in_(candidate_nos)).group_by(row.no)
    return {no: int(records) for no, records in session.execute(sums)}


def _read(
    session: Session,
    *conditions: Any,  # noqa: ANN401 - of SQL
    limit: int | None = None,
    order: Sequence[Any] = (SubgroupCandidateRow.number,),
) -> Sequence[StoredCandidate]:
    statement = (
        select(SubgroupCandidateRow, SubgroupScanRow.id, SubgroupScanRow.result)
        .join(SubgroupScanRow, SubgroupScanRow.no == SubgroupCandidateRow.scan_no)
        .where(*conditions)
        .order_by(*order)
        .limit(limit)
        .execution_options(populate_existing=True)
    )
    own = [name for name in StoredCandidate.__dataclass_fields__ if name not in {"scan_id", "result"}]
    return [
        StoredCandidate(**{name: getattr(row, name) for name in own}, scan_id=scan_id, result=result or {})
        for row, scan_id, result in session.execute(statement)
    ]
