"""Hours of a frame's records, and the first record of each person."""

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from functools import partial

import numpy as np
import pandas as pd

from ..base.clock import floor_to_hour, utc_now
from ..base.errors import InvalidInput
from ..base.values import frozen
from ..domain.record_times import EPOCH, Impossible, LeftOutTimes, TimeRule, TimeTally
from ..statistics.group_labels import BoolArray, IntArray
from .frame_columns import Column, require_column

DAY_HOURS = 24


@frozen(eq=False, kw_only=True)
class HourNumbers:
    """Hour of each record, counted from the first; `first` begins it in UTC, `hours` is their number.

    A date is in the first hour of its day, and a block of evidence is then a day. Records that are not
    `usable` are left out.
    """

    first: datetime
    hours: int
    numbers: IntArray
    seconds: IntArray
    usable: BoolArray
    left_out: tuple[LeftOutTimes, ...]
    block_hours: int

    def start_of(self, hour: int) -> datetime:
        """In UTC, of the first block from that hour on."""
        return self.first + timedelta(hours=-(-hour // self.block_hours) * self.block_hours)

    @property
    def months(self) -> list[int]:
        starts = pd.date_range(self.first, periods=self.hours, freq="h")
        return (starts.year * 12 + starts.month).tolist()


def read_hours(
    frame: pd.DataFrame, name: str, time_format: str | None = None, earliest: date | str | None = None
) -> HourNumbers:
    """ISO 8601 or digits, else of the `time_format`; UTC unless an offset is stated.

    `earliest` is the first possible day, by default 1 January 20 years before now. If most cells are dates,
    or all hours are 0:00, the column is one of dates.

    Raises:
        InvalidInput: no record, or so many times cannot be that the others are in doubt.
    """
    column = require_column(frame, name, "time")
    if column.empty:
        raise InvalidInput("time", f"{name!r} has no record")
    rule = replace(TimeRule.at(utc_now(), earliest), form=time_format)
    spell = (
        partial(np.format_float_positional, trim="-") if pd.api.types.is_float_dtype(column.dtype) else str
    )
    codes, texts = pd.factorize(column.map(spell, na_action="ignore"))
    cells = [*texts, ""]
    # The code -1 of a missing cell is the last place.
    readings = [rule.read(cell) for cell in cells]
    distinct, firsts, counts = (
        array.tolist() for array in np.unique(codes, return_index=True, return_counts=True)
    )
    usable = [
        (readings[code], count)
        for code, count in zip(distinct, counts, strict=True)
        if readings[code].reason is None
    ]
    dates = sum(count for reading, count in usable if reading.is_date)
    is_daily = 2 * dates > sum(count for _, count in usable) or all(
        reading.at.time() == time() for reading, _ in usable
    )
    reasons = [
        Impossible.NO_HOUR if reading.is_date and not is_daily else reading.reason for reading in readings
    ]
    tally = TimeTally()
    for code, first, count in zip(distinct, firsts, counts, strict=True):
        tally.add(reasons[code], cells[code], first + 1, count)
    if (refusal := tally.refusal(rule)) is not None:
        raise InvalidInput("time", f"{name!r} {refusal}, or the first possible day with --earliest.")
    is_usable = np.array([reason is None for reason in reasons])[codes]
    seconds = np.array([(reading.at - EPOCH) // timedelta(seconds=1) for reading in readings])[codes]
    block_hours = DAY_HOURS if is_daily else 1
    numbers = seconds // (3600 * block_hours) * block_hours
    start = int(numbers[is_usable].min())
    last = int(numbers[is_usable].max())
    return HourNumbers(
        first=datetime.fromtimestamp(start * 3600, UTC),
        hours=last - start + block_hours,
        numbers=np.where(is_usable, numbers - start, 0),
        # Among a person's records those are last.
        seconds=np.where(is_usable, seconds, np.iinfo(np.int64).max),
        usable=is_usable,
        left_out=tuple(tally.left_out.values()),
        block_hours=block_hours,
    )


def one_block(records: int) -> HourNumbers:
    return HourNumbers(
        first=floor_to_hour(utc_now()),
        hours=1,
        numbers=np.zeros(records, np.int64),
        seconds=np.zeros(records, np.int64),
        usable=np.ones(records, np.bool_),
        left_out=(),
        block_hours=1,
    )


def first_of_each(persons: Column, seconds: IntArray) -> BoolArray:
    """Also those without a person's id."""
    # Stable: of two records in one second the first in the file counts.
    order = np.argsort(seconds, kind="stable")
    repeated = persons.iloc[order].duplicated().to_numpy() & persons.iloc[order].notna().to_numpy()
    firsts = np.empty(len(persons), bool)
    firsts[order] = ~repeated
    return firsts
