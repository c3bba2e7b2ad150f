"""Parts that the sheets of a report on a period are made from, and forms that their tables share."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from ...base.values import frozen_by_name
from ...database.engine import ArrowReader
from ...domain.monitor import Monitor
from ...sources.stored.window_queries import RevisionCount
from ...statistics.selections.category_people import CountedPeople
from ..document import ABSENT, interval, number
from ..report_source import ReportSource
from .counted_people import PeopleWanted

MOST_ROWS = 60
"""Max rows of a table for people; CSV and JSON have all."""


@frozen_by_name
class SheetParts:
    """`logged` are all records of the period; `no_counts` says why tables of people cannot be made."""

    session: Session
    reader: ArrowReader
    monitor: Monitor
    chosen: PeopleWanted
    people: CountedPeople
    source: ReportSource
    logged: Sequence[RevisionCount]
    no_counts: str | None


def name_cut(rows: Sequence[Any]) -> str:
    """Says that a table does not have all rows; empty if it has."""
    return (
        f" The first {MOST_ROWS} of {len(rows):,} rows; CSV and JSON have all."
        if len(rows) > MOST_ROWS
        else ""
    )


def show_ends(low: float | None, high: float | None) -> str:
    return ABSENT if low is None and high is None else interval(low, high)


def add_ends(figure: str, ends: str) -> str:
    return figure if ends == ABSENT else f"{figure} ({ends})"


def number_and_ends(value: float | None, low: float | None, high: float | None) -> str:
    return add_ends(number(value), show_ends(low, high))
