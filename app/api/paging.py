"""Lists in pages: an opaque cursor that says behind which number the next page begins."""

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from fastapi import Query

from app.errors import InvalidInput

MAX_PAGE = 1000

Item = TypeVar("Item")
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="How many at most.")]
Cursor = Annotated[str | None, Query(max_length=100, description="The `next_cursor` of the page before; left out for the first page.")]


def number_behind(cursor: Cursor = None) -> int:
    """The number behind which the page begins; 0 for the first.

    Raises:
        InvalidInput: the cursor is none of ours.
    """
    if cursor is None:
        return 0
    try:
        number = int.from_bytes(base64.b64decode(cursor, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError) as error:
        raise InvalidInput.of("cursor", "is not a cursor from this list") from error
    if number >= 2**63:
        raise InvalidInput.of("cursor", "is not a cursor from this list")
    return number


def cut(items: Sequence[Item], limit: int, number_of: Callable[[Item], int]) -> tuple[Sequence[Item], str | None]:
    """The page and the cursor of the next one, from `items`, of which one more than `limit` was asked for."""
    page = items[:limit]
    if len(items) <= limit:
        return page, None
    return page, base64.urlsafe_b64encode(number_of(page[-1]).to_bytes(8)).decode()
