"""Conditions of filters, in which None lets everything through."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement
from sqlalchemy.orm import InstrumentedAttribute


def equal(columns: Mapping[InstrumentedAttribute[Any], object]) -> list[ColumnElement[bool]]:
    return [column == value for column, value in columns.items() if value is not None]


def within(column: InstrumentedAttribute[datetime], since: datetime | None, until: datetime | None) -> list[ColumnElement[bool]]:
    """Returns the conditions of a half-open time."""
    return [*([] if since is None else [column >= since]), *([] if until is None else [column < until])]
