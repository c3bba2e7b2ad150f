"""Times of records: each cell is read by itself, and only where exactly one reading is possible."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.base.errors import InvalidInput
from app.domain.record_times import EPOCH, ImpossibleTime, TimeRule, TimeTally, list_readings
from tests.golden import golden

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
RULE = TimeRule.at(NOW)
_NAMES = {"epoch s": "s", "epoch ms": "ms", "epoch us": "us", "epoch ns": "ns", ".NET ticks": "dotnet", "Windows ticks": "filetime"}


def _golden_times() -> dict[str, Any]:
    times: dict[str, Any] = json.loads(golden("A10_evidence.json").read_text())["times"]
    return times


def test_every_golden_cell_is_read_as_it_must_be_among_times_and_among_dates() -> None:
    for cell in _golden_times()["cells"]:
        reading = RULE.read(cell["cell"])
        among_times = ImpossibleTime.NO_HOUR if reading.is_date else reading.reason
        verdict, value = cell["in_times"]

        assert ("read" if among_times is None else "left out") == verdict, cell
        assert (reading.at == datetime.fromisoformat(value)) if verdict == "read" else (among_times == value), cell
        assert [*(("left out", reading.reason) if reading.reason else ("read", f"{reading.at:%Y-%m-%d}"))] == cell["in_dates"], cell
        if cell["readings"] is not None:
            possible = {
                form: at.replace(tzinfo=UTC)
                for form, at in list_readings(cell["cell"])
                if EPOCH <= at.replace(tzinfo=UTC) <= NOW + timedelta(days=1)
            }
            assert possible == {_NAMES.get(form, form): datetime.fromisoformat(at) for form, at in cell["readings"].items()}, cell


def test_two_possible_readings_are_refused_with_both_and_the_option() -> None:
    later = _golden_times()["two_readings_later"]

    with pytest.raises(InvalidInput) as refused:
        TimeRule.at(datetime.fromisoformat(later["now"])).read(later["cell"])

    message = refused.value.problems[0].message
    for part in (repr(later["cell"]), "1980-01-01 00:00 (YYYYMMDDHH)", "2032-09-28 18:48 (s)", "--time-format"):
        assert part in message


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("0000-00-00 00:00:00", ImpossibleTime.DEFAULT_DATE),  # MySQL's zero
        ("9999-12-31T23:59:59-05:00", ImpossibleTime.DEFAULT_DATE),  # UTC has no such day
        ("0001-01-01T00:00:00+05:00", ImpossibleTime.DEFAULT_DATE),
        ("1753010100", None),  # seconds of 2025; as YYYYMMDDHH it were a default date
        ("2026-11-29T12:00:00Z", None),
        ("2026-11-29T13:00:00+02:00", None),
        ("2026-11-29T12:00:00-00:01", ImpossibleTime.FUTURE),
        ("20261020T083000Z", None),
        ("2026-10-20 08", None),
        ("2026-10-20_08:30", ImpossibleTime.NOT_A_TIME),
        ("2026-10-20T24:00", ImpossibleTime.NOT_A_TIME),
        ("2026-1-2", ImpossibleTime.NOT_A_TIME),
        ("2026-W43-2", ImpossibleTime.NOT_A_TIME),
        ("1761004800000.0", ImpossibleTime.NOT_A_TIME),  # milliseconds as pandas writes them
        ("\uff12\uff10\uff12\uff16\uff11\uff10\uff12\uff10", ImpossibleTime.NOT_A_TIME),  # digits, but not ASCII's
        ("-1761004800", ImpossibleTime.NOT_A_TIME),
        ("NaT", ImpossibleTime.NOT_A_TIME),
        (" ", ImpossibleTime.NOT_A_TIME),
        (" 2026-10-20T08:30Z ", None),
    ],
)
def test_neighbours_of_the_golden_cells(cell: str, reason: ImpossibleTime | None) -> None:
    assert RULE.read(cell).reason == reason


_POSSIBLE = st.datetimes(datetime(2006, 1, 1), datetime(2026, 11, 28, 12)).map(lambda at: at.replace(tzinfo=UTC))  # noqa: DTZ001
_CELLS = st.one_of(
    st.text(max_size=30),
    st.text("0123456789", max_size=20),
    st.text("0123456789-:.TZ +", max_size=30),
    st.datetimes().map(str),
    st.builds(datetime.strftime, st.datetimes(), st.sampled_from(["%Y%m%d", "%d%m%Y", "%Y%m%d%H", "%y%m%d%H%M%S", "%s"])),
    st.integers(-(10**20), 10**20).map(str),
)
_FORMS = st.sampled_from([None, "s", "ms", "us", "ns", "dotnet", "filetime", "excel", "%Y%m%d", "%d.%m.%Y %H:%M", "%y%m%d%H%M%S"])


@given(_CELLS, _FORMS, st.datetimes(datetime(2026, 11, 28), datetime(2031, 12, 31)))  # noqa: DTZ001
def test_no_cell_is_a_time_before_1970_or_after_tomorrow(cell: str, form: str | None, now: datetime) -> None:
    rule = replace(TimeRule.at(now.replace(tzinfo=UTC), "0001-01-01"), form=form)

    reading = rule.read(cell)

    assert reading.reason is not None or EPOCH <= reading.at <= rule.latest


_UNITS = {"s": 10**6, "ms": 1000, "us": 1}
_TICKS = {"dotnet": 621_355_968_000_000_000, "filetime": 116_444_736_000_000_000}


@given(_POSSIBLE)
def test_each_form_gives_back_the_time_that_was_written(at: datetime) -> None:
    microseconds = (at - EPOCH) // timedelta(microseconds=1)
    written = {form: f"{microseconds // unit}" for form, unit in _UNITS.items()}
    written |= {"ns": f"{microseconds}000"} | {form: f"{microseconds * 10 + begin}" for form, begin in _TICKS.items()}
    precision = {"s": timedelta(seconds=1), "ms": timedelta(milliseconds=1)}

    for form, cell in written.items():
        for rule in (RULE, TimeRule(earliest=RULE.earliest, latest=RULE.latest, form=form)):
            reading = rule.read(cell)
            assert reading.reason is None
            assert timedelta() <= at - reading.at < precision.get(form, timedelta(microseconds=1))
    for form in ("%Y%m%d%H%M%S%f", "%d.%m.%Y %H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S.%f%z"):
        assert TimeRule(earliest=RULE.earliest, latest=RULE.latest, form=form).read(at.strftime(form)).at == at


@given(st.integers(0, 20 * 365 * 24))
def test_a_full_hour_of_a_spreadsheet_is_that_hour(hours: int) -> None:
    at = datetime(2006, 11, 28, tzinfo=UTC) + timedelta(hours=hours)
    rule = TimeRule(earliest=RULE.earliest, latest=RULE.latest, form="excel")

    # As 15 digits, which are a little less than the hour in one of three.
    assert rule.read(f"{(at - datetime(1899, 12, 30, tzinfo=UTC)) / timedelta(days=1):.15g}").at == at


@pytest.mark.parametrize(
    ("form", "texts"),
    [
        ("%y%m%d%H%M%S", ["261020083000", "261120235959"]),
        ("%d%m%Y", ["20102026", "01112026"]),
        ("%Y%d%m", ["20262010", "20263110"]),
        ("%d/%m/%Y %H:%M", ["20/10/2026 08:30"]),
        ("excel", ["46315.354"]),
        ("ms", ["1761004800000.0"]),
        (None, ["yesterday"]),
        (None, []),
    ],
)
def test_a_form_is_guessed_that_reads_all_texts(form: str | None, texts: list[str]) -> None:
    assert RULE.guess_form(texts) == form


def test_a_pattern_reads_no_digits_of_another_length() -> None:
    rule = TimeRule(earliest=RULE.earliest, latest=RULE.latest, form="%y%m%d%H%M")

    assert rule.read("2610200830").reason is None
    assert rule.read("20102026").reason is ImpossibleTime.NOT_A_TIME  # Python alone takes it for 2020-10-02 02:06


@pytest.mark.parametrize("form", ["seconds", "iso", "%Q", "%"])
def test_a_form_that_is_none_reads_nothing(form: str) -> None:
    rule = TimeRule(earliest=RULE.earliest, latest=RULE.latest, form=form)

    assert {rule.read(cell).reason for cell in ("1761004800", "2026-10-20T08:00Z")} == {ImpossibleTime.NOT_A_TIME}


def _tally(*cells: str) -> TimeTally:
    tally = TimeTally()
    for record, cell in enumerate(cells, 1):
        tally.add(RULE.read(cell).reason, cell, record)
    return tally


def test_more_than_half_without_a_time_refuse_all_in_the_words_of_the_specification() -> None:
    good = ["2026-10-20T08:00Z"] * 3

    assert _tally(*["261020083000"] * 8, "1970-01-01", *good).find_refusal(RULE) == (
        "has no usable time in 9 of 12 records: 8 not a time (first '261020083000' in record 1; as YYYYMMDDHHMM it is in the year 2610), "
        "1 default date. Say how it is written with --time-format (here perhaps '%y%m%d%H%M%S')"
    )
    assert _tally(*good, "yesterday", "", "1970-01-01").find_refusal(RULE) is None
    assert _tally(*good, "yesterday", "", "1970-01-01", "2031-01-01").find_refusal(RULE) is not None


def test_three_cells_of_digits_in_a_hundred_put_all_digits_in_doubt() -> None:
    # Days above 12 of YYYYDDMM; all others are read, as a month that they are not.
    good = ["20261020083000"]

    assert _tally(*good * 200, *["20262010083000"] * 2).find_refusal(RULE) is None
    assert _tally(*good * 297, *["20262010083000"] * 3).find_refusal(RULE) is None
    assert _tally(*good * 296, *["20262010083000"] * 3).find_refusal(RULE) is not None
    assert _tally(*good * 96, *["2026-13-20"] * 3).find_refusal(RULE) is None  # no digits
    assert _tally(*good * 96, *["19700101"] * 3).find_refusal(RULE) is None  # known by its date


def test_left_out_times_are_listed_by_reason_with_the_first_cell() -> None:
    left_out = _tally("2026-10-20T08:00Z", "yesterday", "", "20", "2031-01-01").left_out

    assert [f"{times}" for times in left_out.values()] == [
        "2 not a time (first 'yesterday' in record 2)",
        "1 no time (first in record 3)",
        "1 in the future (first '2031-01-01' in record 5)",
    ]
