"""Cursors of a page of payload records, as places in the log: the same for every list of them."""

from datetime import datetime
from typing import Annotated

import msgspec

from ..store.records.record_conditions import RecordPlace
from .paging import PlaceCursor, encode_place, read_place_cursor


class _Place(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """A `RecordPlace` as a cursor holds it."""

    logged_at: Annotated[datetime, msgspec.Meta(tz=True)]
    record_no: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


def read_record_cursor(cursor: PlaceCursor = None) -> RecordPlace | None:
    """Returns the place after which the page begins; None for the first page.

    Raises:
        InvalidInput: the cursor was not made by this service.
    """
    place = read_place_cursor(cursor, _Place)
    return None if place is None else RecordPlace(place.logged_at, place.record_no)


def write_record_cursor(place: RecordPlace | None) -> str | None:
    """Returns the cursor that `read_record_cursor` reads; None at the end of the list."""
    return None if place is None else encode_place(_Place(place.logged_at, place.record_no))
