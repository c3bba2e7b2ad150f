"""Columns of times: one form for all, dates, and columns that cannot be what they are taken for."""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

from app.base.errors import InvalidInput
from app.library.compared_rates import HourNumbers, read_hours

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
START = datetime(2026, 10, 20, tzinfo=UTC)
TIMES = [START + timedelta(minutes=25 * number) for number in range(200)]


@pytest.fixture(autouse=True)
def clock() -> Iterator[None]:
    with patch("app.library.compared_rates.utc_now", return_value=NOW):
        yield


def read(cells: object, time_format: str | None = None, earliest: date | str | None = None) -> HourNumbers:
    return read_hours(pd.DataFrame({"ts": cells}), "ts", time_format, earliest)


def refusal(cells: object, time_format: str | None = None) -> str:
    with pytest.raises(InvalidInput) as refused:
        read(cells, time_format)
    problem = refused.value.problems[0]
    assert problem.field == "time"
    return problem.message


_SECONDS = [int(time.timestamp()) for time in TIMES]
_TYPES: dict[str, Callable[[], Any]] = {
    "texts": lambda: [f"{time:%Y%m%d%H%M%S}" for time in TIMES],
    "numbers of dates": lambda: [int(f"{time:%Y%m%d%H%M}") for time in TIMES],
    "seconds": lambda: _SECONDS,
    "floats": lambda: [*map(float, _SECONDS)],
    "milliseconds as floats": lambda: [second * 1e3 for second in _SECONDS],
    "nullable": lambda: pd.array(_SECONDS, dtype="Int64"),
    "datetimes": lambda: TIMES,
    "naive": lambda: pd.Series(TIMES).dt.tz_localize(None),
    "nanoseconds": lambda: pd.Series(TIMES).astype("datetime64[ns, Europe/Vienna]") + pd.Timedelta(1, "ns"),
    "mixed": lambda: [time if number % 2 else f"{time:%Y-%m-%d %H:%M}" for number, time in enumerate(TIMES)],
    "categories": lambda: pd.Categorical([f"{time:%Y-%m-%dT%H:%MZ}" for time in TIMES]),
}


@pytest.mark.parametrize("kind", _TYPES)
def test_the_type_of_a_column_does_not_change_its_times(kind: str) -> None:
    hours = read(_TYPES[kind]())

    assert hours.first == START
    assert hours.numbers.tolist() == [25 * number // 60 for number in range(200)]
    assert (hours.block_hours, hours.left_out) == (1, ())


@pytest.mark.parametrize("cell", [None, np.nan, pd.NA, pd.NaT, ""])
def test_a_missing_cell_is_left_out(cell: object) -> None:
    hours = read([TIMES[0], cell, TIMES[3]])

    assert hours.usable.tolist() == [True, False, True]
    assert [(times.reason, times.count, times.record) for times in hours.left_out] == [("no time", 1, 2)]


def test_a_date_in_a_column_of_times_is_in_no_hour_and_a_time_among_dates_is_in_its_day() -> None:
    dates = ["2026-10-20", "2026-10-21"]

    times = read([*map(str, TIMES[:10]), *dates])
    days = read(["2026-10-20T23:00-05:00", *dates])

    assert times.usable.sum() == 10
    assert times.hours == 4
    assert (days.block_hours, days.hours, days.numbers.tolist(), days.left_out) == (24, 48, [24, 0, 24], ())


@pytest.mark.parametrize(
    "cells",
    [
        ["20261020", "20261022"],
        ["2026-10-20T00:00Z", "2026-10-22 00:00"],
        [date(2026, 10, 20), date(2026, 10, 22)],
        ["1792454400", "1792627200"],
    ],
    ids=["digits", "midnights", "objects", "seconds"],
)
def test_midnights_alone_are_days(cells: list[object]) -> None:
    hours = read(cells)

    assert (hours.block_hours, hours.hours, hours.numbers.tolist()) == (24, 72, [0, 48])
    # Nothing is between two days.
    assert hours.find_block_start(1) == START + timedelta(days=1)


def test_a_column_of_two_digit_years_is_refused_with_its_form() -> None:
    message = refusal([f"{time:%y%m%d%H%M%S}" for time in TIMES])

    assert message.startswith(
        "'ts' has no usable time in 200 of 200 records: 200 not a time (first '261020000000' in record 1; as YYYYMMDDHHMM"
    )
    assert "--time-format (here perhaps '%y%m%d%H%M%S')" in message
    assert "--earliest" in message
    assert read([f"{time:%y%m%d%H%M%S}" for time in TIMES], "%y%m%d%H%M%S").numbers[-1] == read(TIMES).numbers[-1]


def test_days_before_months_are_refused_though_most_cells_are_read() -> None:
    days = [f"{START + timedelta(days=number):%Y%d%m}" for number in range(-200, 30)]

    assert "(here perhaps '%Y%d%m')" in refusal([*days, *[f"{time:%Y%m%d}" for time in TIMES] * 3])
    assert read(days, "%Y%d%m").hours == 230 * 24


def test_the_first_possible_day_can_be_stated() -> None:
    cells = ["1999-10-20T08:00Z", "1999-10-21T08:00Z"]

    assert "before the first possible time" in refusal(cells)
    assert read(cells, earliest="1999-01-01").hours == 25
    assert read(cells, earliest=date(1999, 10, 21) - timedelta(days=1)).hours == 25
    with pytest.raises(InvalidInput) as refused:
        read(cells, earliest="first of May")
    assert refused.value.problems[0].field == "earliest"


def test_a_form_that_fits_no_cell_is_refused() -> None:
    assert "has no usable time in 200 of 200 records" in refusal([f"{time:%Y%m%d%H%M%S}" for time in TIMES], "%d.%m.%Y")
