"""Lists in pages: an opaque cursor that says behind which number, or behind which place, the next page begins."""

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

import msgspec
from fastapi import Query

from app.errors import InvalidInput

MAX_PAGE = 1000

Item = TypeVar("Item")
Place = TypeVar("Place")
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="How many at most.")]
Cursor = Annotated[str | None, Query(max_length=100, description="The `next_cursor` of the page before; left out for the first page.")]
PlaceCursor = Annotated[
    str | None, Query(max_length=2000, description="The `next_cursor` of the page before; left out for the first page.")
]


def number_behind(cursor: Cursor = None) -> int:
    """The number behind which the page begins; 0 for the first.

    Raises:
        InvalidInput: the cursor is none of ours.
    """
    if cursor is None:
        return 0
    number = int.from_bytes(_decoded(cursor))
    if number >= 2**63:
        raise _no_cursor()
    return number


def cut(items: Sequence[Item], limit: int, number_of: Callable[[Item], int]) -> tuple[Sequence[Item], str | None]:
    """The page and the cursor of the next one, from `items`, of which one more than `limit` was asked for."""
    return _cut(items, limit, lambda item: number_of(item).to_bytes(8))


def place_behind(cursor: str | None, form: type[Place]) -> Place | None:
    """The place behind which the page begins, for lists that no single number orders; None for the first page.

    `form` is the type of the place, which checks what its members may be.

    Raises:
        InvalidInput: the cursor is none of ours.
    """
    if cursor is None:
        return None
    try:
        return msgspec.json.decode(_decoded(cursor), type=form)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _no_cursor() from error


def cut_at_place(items: Sequence[Item], limit: int, place_of: Callable[[Item], object]) -> tuple[Sequence[Item], str | None]:
    """The same as `cut`, with the cursors that `place_behind` reads."""
    return _cut(items, limit, lambda item: msgspec.json.encode(place_of(item)))


def encode_place(place: object) -> str:
    """The cursor of a place that `place_behind` reads, for lists whose next page need not begin behind the last item of this one."""
    return _encoded(msgspec.json.encode(place))


def _cut(items: Sequence[Item], limit: int, bytes_of: Callable[[Item], bytes]) -> tuple[Sequence[Item], str | None]:
    page = items[:limit]
    if len(items) <= limit:
        return page, None
    return page, _encoded(bytes_of(page[-1]))


def _encoded(place: bytes) -> str:
    return base64.urlsafe_b64encode(place).decode()


def _decoded(cursor: str) -> bytes:
    try:
        return base64.b64decode(cursor, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise _no_cursor() from error


def _no_cursor() -> InvalidInput:
    return InvalidInput.of("cursor", "is not a cursor from this list")
