"""Where a page of payload records begins, as the cursor of a place in the log: the same for every list of them."""

from datetime import datetime
from typing import Annotated

import msgspec

from app.store.record_conditions import RecordPlace
from app.web.paging import PlaceCursor, encode_place, place_behind


class _Place(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """A `RecordPlace` as a cursor holds it."""

    logged_at: Annotated[datetime, msgspec.Meta(tz=True)]
    record_no: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


def record_behind(cursor: PlaceCursor = None) -> RecordPlace | None:
    """The place behind which the page begins; None for the first page.

    Raises:
        InvalidInput: the cursor is none of ours.
    """
    place = place_behind(cursor, _Place)
    return None if place is None else RecordPlace(place.logged_at, place.record_no)


def cursor_behind(place: RecordPlace | None) -> str | None:
    """The cursor that `record_behind` reads; None at the end of the list."""
    return None if place is None else encode_place(_Place(place.logged_at, place.record_no))
