"""Cursors of pages of payload records."""

from datetime import datetime
from typing import Annotated

import msgspec

from ..store.records.record_conditions import GapPlace, RecordPlace
from ..views.transactions import RecordSort
from .paging import encode_place, read_place_cursor

_Moment = Annotated[datetime, msgspec.Meta(tz=True)]
_Number = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class _Place(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    logged_at: _Moment
    record_no: _Number


class _PlaceByGap(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    # JSON keeps every digit of a float.
    gap: Annotated[float, msgspec.Meta(ge=0)] | None
    logged_at: _Moment
    record_no: _Number


def read_record_cursor(cursor: str | None, sort: RecordSort) -> RecordPlace | GapPlace | None:
    if sort is RecordSort.GAP:
        by_gap = read_place_cursor(cursor, _PlaceByGap)
        return None if by_gap is None else GapPlace(by_gap.gap, by_gap.logged_at, by_gap.record_no)
    return read_newest_cursor(cursor)


def read_newest_cursor(cursor: str | None) -> RecordPlace | None:
    place = read_place_cursor(cursor, _Place)
    return None if place is None else RecordPlace(place.logged_at, place.record_no)


def write_record_cursor(place: RecordPlace | GapPlace | None) -> str | None:
    match place:
        case None:
            return None
        case GapPlace():
            return encode_place(_PlaceByGap(place.gap, place.logged_at, place.record_no))
        case _:
            return encode_place(_Place(place.logged_at, place.record_no))
