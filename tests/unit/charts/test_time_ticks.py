"""Ticks of an axis of time, on the clock of a zone."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from app.charts.pictures.axes import MAX_TICKS, list_time_ticks
from app.domain.check import Span

MOST_ON_A_PHONE = 4
BERLIN = ZoneInfo("Europe/Berlin")
START = datetime(2026, 10, 25, tzinfo=UTC)


@settings(max_examples=100)
@given(
    begin=st.integers(-600_000_000, 3_000_000_000).map(lambda one: datetime.fromtimestamp(one, UTC)),
    minutes=st.integers(1, 60_000_000),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "America/St_Johns"]),
)
def test_ticks_are_few_in_order_and_on_the_axis(begin: datetime, minutes: int, zone: str) -> None:
    span = Span(start=begin, end=begin + timedelta(minutes=minutes))
    ticks = list_time_ticks(span, ZoneInfo(zone))

    assert 1 <= len(ticks) <= MAX_TICKS
    assert all(before.moment < after.moment for before, after in pairwise(ticks))
    assert all(0 <= tick.at <= 100 for tick in ticks)
    assert 1 <= sum(not tick.is_spare for tick in ticks) <= MOST_ON_A_PHONE
    if timedelta(days=20) < span.end - span.start:
        assert {tick.moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None).hour for tick in ticks} <= {0, 1}


def test_days_begin_at_midnight_of_the_zone_also_when_its_clocks_change() -> None:
    ticks = list_time_ticks(Span(start=START, end=START + timedelta(days=5)), BERLIN)

    assert [tick.text for tick in ticks] == ["26 Oct", "27 Oct", "28 Oct", "29 Oct", "30 Oct"]
    assert {tick.moment.astimezone(BERLIN).hour for tick in ticks} == {0}


def test_an_hour_that_comes_twice_is_marked_once_in_every_step() -> None:
    ticks = list_time_ticks(Span(start=START - timedelta(hours=4), end=START + timedelta(hours=14)), BERLIN)

    assert [tick.text for tick in ticks] == ["25 Oct", "03:00", "06:00", "09:00", "12:00", "15:00"]


def test_a_year_has_firsts_of_months() -> None:
    ticks = list_time_ticks(Span(start=START, end=START + timedelta(days=365)), BERLIN)

    assert [tick.text for tick in ticks] == ["Nov 2026", "Jan 2027", "Mar 2027", "May 2027", "Jul 2027", "Sep 2027"]


def test_on_a_narrow_axis_the_dates_stay_among_the_hours() -> None:
    ticks = list_time_ticks(Span(start=START - timedelta(hours=4), end=START + timedelta(hours=66)), BERLIN)

    assert [tick.text for tick in ticks] == ["25 Oct", "12:00", "26 Oct", "12:00", "27 Oct", "12:00"]
    assert [tick.text for tick in ticks if not tick.is_spare] == ["25 Oct", "26 Oct", "27 Oct"]
