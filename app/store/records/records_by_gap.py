"""Payload records by their largest flag's gap, then the others, newest first."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import RowMapping, text
from sqlalchemy.orm import Session

from ...frozen import frozen
from ..database.page_size import fill_page
from .record_conditions import GapPlace, RecordFilter, RecordPlace, add_filters, bound_statement
from .transactions import RECORD_COLUMNS, SCANNED_WITH_COPIES, VALUE_COLUMNS, StoredRecord, find_records

_AT_ONCE = 50

_LAST_PLACE = RecordPlace(datetime.max.replace(tzinfo=UTC), 2**63 - 1)

_BY_GAP = "ORDER BY f.gap DESC, f.record_no, f.attribute"
_AFTER = "f.gap <= :gap AND (f.gap < :gap OR f.record_no > :record_no)"
# A record's place is that of its largest flag.
_IS_LARGEST = (
    "NOT EXISTS (SELECT FROM flagged_records o WHERE o.deployment_no = f.deployment_no AND o.record_no = f.record_no"
    " AND (o.gap > f.gap OR (o.gap = f.gap AND o.attribute < f.attribute)))"
)


@frozen(kw_only=True)
class RecordsByGap:
    """A page, maybe short. `next_place` begins the next one; None at the end."""

    records: list[StoredRecord]
    next_place: GapPlace | None


def find_by_gap(session: Session, deployment_no: int, wanted: RecordFilter, *, after: GapPlace | None, limit: int) -> RecordsByGap:
    """Returns at most `limit` records after that position; looks through a bounded number."""
    if after is not None and after.gap is None:
        return _find_without_flags(session, deployment_no, wanted, RecordPlace(after.logged_at, after.record_no), limit)
    flagged = _find_flagged(session, deployment_no, wanted, after, limit)
    if flagged.next_place is not None:
        return flagged
    rest = _find_without_flags(session, deployment_no, wanted, _LAST_PLACE, limit - len(flagged.records))
    return RecordsByGap(records=[*flagged.records, *rest.records], next_place=rest.next_place)


def _find_flagged(session: Session, deployment_no: int, wanted: RecordFilter, after: GapPlace | None, limit: int) -> RecordsByGap:
    places = ["f.deployment_no = :deployment_no"]
    values: dict[str, Any] = {"deployment_no": deployment_no}
    if after is not None:
        places.append(_AFTER)
        values |= {"gap": after.gap, "record_no": after.record_no}
    stop = session.execute(
        text(
            "SELECT f.gap, f.logged_at, f.record_no FROM flagged_records f"  # noqa: S608 - constants
            f" WHERE {' AND '.join(places)} {_BY_GAP} OFFSET :passed LIMIT 1"
        ),
        values | {"passed": SCANNED_WITH_COPIES - 1},
    ).one_or_none()
    if stop is not None:
        places.append("(f.gap > :stop_gap OR (f.gap = :stop_gap AND f.record_no <= :stop_no))")
        values |= {"stop_gap": stop.gap, "stop_no": stop.record_no}
    statement = bound_statement(deployment_no, wanted, None)
    add_filters(statement, wanted)
    of_flag = "r.deployment_no = f.deployment_no AND r.logged_at = f.logged_at AND r.record_no = f.record_no"
    query = text(
        f"SELECT {RECORD_COLUMNS}, f.gap FROM flagged_records f JOIN payload_records r ON {of_flag}"  # noqa: S608 - constants
        f" WHERE {' AND '.join([*places, _IS_LARGEST])} AND {statement.where} {_BY_GAP} LIMIT :most"
    )
    parameters = statement.values | values | {"most": limit + 1}
    with session.execute(query, parameters, execution_options={"yield_per": _AT_ONCE}) as rows:
        page = fill_page(rows.mappings(), _size_of)
    found = [StoredRecord(**{name: one[name] for name in StoredRecord.__dataclass_fields__}) for one in page.items[:limit]]
    if page.is_cut or len(page.items) > limit:
        last = page.items[len(found) - 1]
        return RecordsByGap(records=found, next_place=GapPlace(last["gap"], last["logged_at"], last["record_no"]))
    return RecordsByGap(records=found, next_place=None if stop is None else GapPlace(stop.gap, stop.logged_at, stop.record_no))


def _find_without_flags(session: Session, deployment_no: int, wanted: RecordFilter, after: RecordPlace, limit: int) -> RecordsByGap:
    found = find_records(session, deployment_no, replace(wanted, without_flags=True), after=after, limit=limit + 1)
    page, place = found.records[:limit], found.looked_through_to
    if found.is_cut or len(found.records) > limit:
        # A page full of flagged records has none without.
        place = page[-1].place if page else after
    return RecordsByGap(records=page, next_place=None if place is None else GapPlace(None, place.logged_at, place.record_no))


def _size_of(row: RowMapping) -> int:
    return len(msgspec.json.encode([row[name] for name in VALUE_COLUMNS]))
