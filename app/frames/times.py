"""Hours of a frame's records, and the first record of each person."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..errors import InvalidInput
from ..metrics.groups import IntArray
from .columns import Column, is_numeric, where

MAX_HOURS = 20 * 8_784
"""Max hours between the first and the last record: more is a wrong date."""

_EARLIEST = {"s": 1e8, "ms": 1e11, "us": 1e14, "ns": 1e17}
"""Unit of numbers since 1970 from this size on: each is a time between 1973 and 5138."""


@dataclass(frozen=True, slots=True, eq=False)
class HourNumbers:
    """Each record's hour, counted from the first; `first` begins it in UTC, `hours` is their number."""

    first: datetime
    hours: int
    numbers: IntArray
    seconds: IntArray

    def start_of(self, hour: int) -> datetime:
        """Beginning of an hour in UTC."""
        return self.first + timedelta(hours=hour)

    @property
    def months(self) -> list[int]:
        """Per hour the number of its calendar month."""
        starts = pd.date_range(self.first, periods=self.hours, freq="h")
        return (starts.year * 12 + starts.month).tolist()


def hours_of(column: Column, option: str) -> HourNumbers:
    """Hours of a column of times: ISO 8601, UTC unless stated, or numbers since 1970.

    Raises:
        InvalidInput: no record, a time is missing or unreadable, or the first and last are too far apart.
    """
    if column.empty:
        raise InvalidInput.of(option, f"{column.name!r} has no record")
    times = _parse_times(column)
    unread = times.isna().to_numpy()
    if unread.any():
        found = column[unread].iloc[0]
        raise InvalidInput.of(
            option,
            f"{column.name!r} must hold a time in each record, such as 2026-11-19T07:30:00Z, found {found!r:.100} in {where(unread)}",
        )
    seconds = times.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy().astype("datetime64[s]").astype(np.int64)
    numbers = seconds // 3600
    first, last = int(numbers.min()), int(numbers.max())
    start = datetime.fromtimestamp(first * 3600, UTC)
    if last - first >= MAX_HOURS:
        end = datetime.fromtimestamp(last * 3600, UTC)
        raise InvalidInput.of(option, f"{column.name!r} goes from {start:%Y-%m-%d} to {end:%Y-%m-%d}, more than 20 years; is a date wrong?")
    return HourNumbers(start, last - first + 1, numbers - first, seconds)


def first_of_each(persons: Column, seconds: IntArray) -> npt.NDArray[np.bool_]:
    """Per record, whether it is the first of its person or without a person's id."""
    # Stable: of two records in one second the first in the file counts.
    order = np.argsort(seconds, kind="stable")
    repeated = persons.iloc[order].duplicated().to_numpy() & persons.iloc[order].notna().to_numpy()
    firsts = np.empty(len(persons), dtype=np.bool_)
    firsts[order] = ~repeated
    return firsts


def _parse_times(column: Column) -> Column:
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return column.dt.tz_localize("UTC") if column.dt.tz is None else column
    if is_numeric(column):
        largest = float(column.abs().max())
        unit = next((name for name, size in reversed(_EARLIEST.items()) if largest >= size), None)
        if unit is not None:
            return pd.to_datetime(column, unit=unit, utc=True, errors="coerce")  # type: ignore[call-overload,no-any-return]
        return pd.Series(pd.NaT, index=column.index, dtype="datetime64[ns, UTC]", name=column.name)
    return pd.to_datetime(column.astype("string"), format="ISO8601", utc=True, errors="coerce")
