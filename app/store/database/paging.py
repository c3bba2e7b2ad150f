"""Statements of a part of a list, by the number of its rows."""

from typing import Any, TypeVar

from sqlalchemy import Select
from sqlalchemy.orm import InstrumentedAttribute

from ...domain.paging import Paging

Statement = TypeVar("Statement", bound=Select[*tuple[Any, ...]])


def page_oldest(statement: Statement, number: InstrumentedAttribute[int], paging: Paging) -> Statement:
    return statement.where(number > paging.after).order_by(number).limit(paging.limit)


def page_newest(statement: Statement, number: InstrumentedAttribute[int], paging: Paging) -> Statement:
    before = [number < paging.after] if paging.after else []
    return statement.where(*before).order_by(number.desc()).limit(paging.limit)
