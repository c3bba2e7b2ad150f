"""Conditions of filters, in which None lets everything through, and parts of lists by the number of their
rows.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Select
from sqlalchemy.orm import InstrumentedAttribute

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
    """Returns the conditions of a half-open time."""
    return [*([] if since is None else [column >= since]), *([] if until is None else [column < until])]
