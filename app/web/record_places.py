"""Cursors of pages of payload records."""

from ..store.records.record_conditions import GapPlace, RecordPlace
from ..views.transactions import RecordSort
from .paging import read_place_cursor


def read_record_cursor(cursor: str | None, sort: RecordSort) -> RecordPlace | GapPlace | None:
    return read_place_cursor(cursor, GapPlace) if sort is RecordSort.GAP else read_place_cursor(cursor, RecordPlace)
