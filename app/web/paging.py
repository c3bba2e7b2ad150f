"""Lists in pages with opaque cursors."""

import base64
import binascii
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Annotated, TypeVar

import msgspec
from fastapi import Depends, Query

from ..base.errors import InvalidInput
from ..domain.paging import Paging
from ..sources.stored.record_conditions import GapPlace, RecordPlace, RecordSort

MAX_PAGE = 1000

Item = TypeVar("Item")
Place = TypeVar("Place")
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="How many at most.")]
Cursor = Annotated[
    str | None,
    Query(max_length=100, description="The `next_cursor` of the page before; left out for the first page."),
]
PlaceCursor = Annotated[
    str | None,
    Query(max_length=2000, description="The `next_cursor` of the page before; left out for the first page."),
]


def read_number_cursor(cursor: Cursor = None) -> int:
    """Number of 64 bits after which the page begins; 0 for the first."""
    return _read_number(cursor)


def read_paging(limit: Limit = 100, cursor: Cursor = None) -> Paging:
    # One item more than is shown says whether there are others.
    return Paging(limit + 1, _read_number(cursor))


def read_short_paging(limit: Limit = 100, cursor: Cursor = None) -> Paging:
    """The same of numbers of 32 bits: of deployments, keys, users, versions."""
    return Paging(limit + 1, _read_number(cursor, 32))


NumberCursor = Annotated[int, Depends(read_number_cursor)]
NumberPaging = Annotated[Paging, Depends(read_paging)]
ShortNumberPaging = Annotated[Paging, Depends(read_short_paging)]


def cut(
    items: Sequence[Item], paging: Paging, number_of: Callable[[Item], int] = attrgetter("no")
) -> tuple[Sequence[Item], str | None]:
    """Page, without the last item of the limit, and the cursor of the next one."""
    page = items[: paging.limit - 1]
    return page, _encode(number_of(page[-1]).to_bytes(8)) if len(items) > len(page) else None


def read_place_cursor(cursor: str | None, form: type[Place]) -> Place | None:
    """Place after which the page begins, or None; the type `form` checks its members."""
    if cursor is None:
        return None
    try:
        return msgspec.json.decode(_decode(cursor), type=form)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _refuse_cursor() from error


def cut_at_place(
    items: Sequence[Item], limit: int, place_of: Callable[[Item], object]
) -> tuple[Sequence[Item], str | None]:
    """Like `cut`."""
    page = items[:limit]
    return page, encode_place(place_of(page[-1])) if len(items) > limit else None


def encode_place(place: object | None) -> str | None:
    """Cursor of a place that need not be the last item's of this page."""
    return None if place is None else _encode(msgspec.json.encode(place))


def _read_number(cursor: str | None, bits: int = 64) -> int:
    number = 0 if cursor is None else int.from_bytes(_decode(cursor))
    # Numbers of the database have a sign.
    if number >= 1 << (bits - 1):
        raise _refuse_cursor()
    return number


def _encode(encoded: bytes) -> str:
    return base64.urlsafe_b64encode(encoded).decode()


def _decode(cursor: str) -> bytes:
    try:
        return base64.b64decode(cursor, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise _refuse_cursor() from error


def _refuse_cursor() -> InvalidInput:
    return InvalidInput("cursor", "is not a cursor from this list")


def read_record_cursor(cursor: str | None, sort: RecordSort) -> RecordPlace | GapPlace | None:
    return (
        read_place_cursor(cursor, GapPlace)
        if sort is RecordSort.GAP
        else read_place_cursor(cursor, RecordPlace)
    )
