"""Conditions of filters, in which None lets everything through, and parts of lists by the number of their
rows, or by their bytes.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Select
from sqlalchemy.orm import InstrumentedAttribute

from ..base.frozen import frozen
from ..domain.paging import Paging

Statement = TypeVar("Statement", bound=Select[*tuple[Any, ...]])


def page_oldest(statement: Statement, number: InstrumentedAttribute[int], paging: Paging) -> Statement:
    return statement.where(number > paging.after).order_by(number).limit(paging.limit)


def page_newest(statement: Statement, number: InstrumentedAttribute[int], paging: Paging) -> Statement:
    before = [number < paging.after] if paging.after else []
    return statement.where(*before).order_by(number.desc()).limit(paging.limit)


def equal(columns: Mapping[InstrumentedAttribute[Any], object]) -> list[ColumnElement[bool]]:
    return [column == value for column, value in columns.items() if value is not None]


def within(
    column: InstrumentedAttribute[datetime], since: datetime | None, until: datetime | None
) -> list[ColumnElement[bool]]:
    """Conditions of a half-open time."""
    return [*([] if since is None else [column >= since]), *([] if until is None else [column < until])]


MAX_PAGE_BYTES = 8 * 2**20
"""Max bytes of a page's values as JSON. The first record is always in it."""

Item = TypeVar("Item")


@frozen
class Page(Generic[Item]):
    """Items in order. `is_cut`: there was no room for all."""

    items: list[Item]
    is_cut: bool


def fill_page(items: Iterable[Item], size_of: Callable[[Item], int]) -> Page[Item]:
    """As many of the items as a page has room for; reads one item beyond."""
    page: list[Item] = []
    room = MAX_PAGE_BYTES
    for item in items:
        if page and room <= 0:
            return Page(page, is_cut=True)
        page.append(item)
        room -= size_of(item)
    return Page(page, is_cut=False)
