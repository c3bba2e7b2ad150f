"""Payload records by their largest flag's gap, then the others, newest first."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import Row, text
from sqlalchemy.orm import Session

from ...base.values import frozen_by_name
from ...database.binary_rows import fill_page, read_row
from .record_conditions import GapPlace, RecordFilter, RecordPlace, add_filters, bound_statement
from .record_queries import RECORD_COLUMNS, SCANNED_WITH_COPIES, VALUE_COLUMNS, StoredRecord, find_records

_AT_ONCE = 50

_LAST_PLACE = RecordPlace(datetime.max.replace(tzinfo=UTC), 2**63 - 1)

_BY_GAP = "ORDER BY f.gap DESC, f.record_no, f.attribute"
_AFTER = "f.gap <= :gap AND (f.gap < :gap OR f.record_no > :record_no)"
# A record's place is that of its largest flag.
_IS_LARGEST = (
    "NOT EXISTS (SELECT FROM flagged_records o WHERE o.deployment_no = f.deployment_no AND o.record_no = "
    "f.record_no AND (o.gap > f.gap OR (o.gap = f.gap AND o.attribute < f.attribute)))"
)


@frozen_by_name
class RecordsByGap:
    """A page, maybe short. `next_place` begins the next one; None at the end."""

    records: list[StoredRecord]
    next_place: GapPlace | None


def find_by_gap(
    session: Session, deployment_no: int, filters: RecordFilter, *, after: GapPlace | None, limit: int
) -> RecordsByGap:
    """Returns at most `limit` records after that position; looks through a bounded number."""
    if after is not None and after.gap is None:
        return _find_without_flags(
            session, deployment_no, filters, RecordPlace(after.logged_at, after.record_no), limit
        )
    flagged = _find_flagged(session, deployment_no, filters, after, limit)
    if flagged.next_place is not None:
        return flagged
    unflagged = _find_without_flags(
        session, deployment_no, filters, _LAST_PLACE, limit - len(flagged.records)
    )
    return RecordsByGap(records=[*flagged.records, *unflagged.records], next_place=unflagged.next_place)


def _find_flagged(
    session: Session, deployment_no: int, filters: RecordFilter, after: GapPlace | None, limit: int
) -> RecordsByGap:
    conditions = ["f.deployment_no = :deployment_no"]
    values: dict[str, Any] = {"deployment_no": deployment_no}
    if after is not None:
        conditions.append(_AFTER)
        values |= {"gap": after.gap, "record_no": after.record_no}
    stop = session.execute(
        text(
            "SELECT f.gap, f.logged_at, f.record_no FROM flagged_records f"  # noqa: S608 - constants
            f" WHERE {' AND '.join(conditions)} {_BY_GAP} OFFSET :passed LIMIT 1"
        ),
        values | {"passed": SCANNED_WITH_COPIES - 1},
    ).one_or_none()
    if stop is not None:
        conditions.append("(f.gap > :stop_gap OR (f.gap = :stop_gap AND f.record_no <= :stop_no))")
        values |= {"stop_gap": stop.gap, "stop_no": stop.record_no}
    statement = bound_statement(deployment_no, filters, None)
    add_filters(statement, filters)
    of_flag = "r.deployment_no = f.deployment_no AND r.logged_at = f.logged_at AND r.record_no = f.record_no"
    query = text(
        f"SELECT {RECORD_COLUMNS}, f.gap FROM flagged_records f JOIN payload_records r ON "  # noqa: S608 - constants
        f"{of_flag}"
        f" WHERE {' AND '.join([*conditions, _IS_LARGEST])} AND {statement.where} {_BY_GAP} LIMIT :most"
    )
    parameters = statement.values | values | {"most": limit + 1}
    with session.execute(query, parameters, execution_options={"yield_per": _AT_ONCE}) as rows:
        page = fill_page(rows, _measure_size)
    records = [read_row(StoredRecord, row) for row in page.items[:limit]]
    last = page.items[len(records) - 1] if page.is_cut or len(page.items) > limit else stop
    next_place = None if last is None else GapPlace(last.gap, last.logged_at, last.record_no)
    return RecordsByGap(records=records, next_place=next_place)


def _find_without_flags(
    session: Session, deployment_no: int, filters: RecordFilter, after: RecordPlace, limit: int
) -> RecordsByGap:
    looked_up = find_records(
        session, deployment_no, replace(filters, without_flags=True), after=after, limit=limit + 1
    )
    page = looked_up.records[:limit]
    position = looked_up.looked_through_to
    if looked_up.is_cut or len(looked_up.records) > limit:
        # A page full of flagged records has none without.
        position = page[-1].place if page else after
    return RecordsByGap(
        records=page,
        next_place=None if position is None else GapPlace(None, position.logged_at, position.record_no),
    )


def _measure_size(row: Row[Any]) -> int:
    return len(msgspec.json.encode([getattr(row, name) for name in VALUE_COLUMNS]))
