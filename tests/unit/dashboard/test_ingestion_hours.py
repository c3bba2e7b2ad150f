"""The hours of a range of ingestion: whole ones, and of a preset as many as it is long."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.base.clock import HOUR
from app.charts.time_ranges import RangeChoice, RangePreset
from app.pages.intake_page import find_whole_hours

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
NOW = NOON + timedelta(minutes=20)


@pytest.mark.parametrize(("preset", "hours"), [(None, 24), (RangePreset.DAY, 24), (RangePreset.WEEK, 168), (RangePreset.MONTH, 720)])
@pytest.mark.parametrize("now", [NOW, NOON])
def test_a_preset_has_as_many_hours_as_it_is_long_up_to_the_present_one(preset: RangePreset | None, hours: int, now: datetime) -> None:
    span = find_whole_hours(RangeChoice(preset=preset), now)

    assert (span.end - span.start) // HOUR == hours
    assert span.end - HOUR < now <= span.end


@given(
    st.datetimes(timezones=st.just(UTC)).filter(lambda at: 1900 < at.year < 9000), st.timedeltas(timedelta(seconds=1), timedelta(days=9))
)
def test_two_moments_are_within_their_hours_and_no_hour_is_untouched(start: datetime, length: timedelta) -> None:
    span = find_whole_hours(RangeChoice(start=start, end=start + length), NOW)

    assert span.start <= start < span.start + HOUR
    assert span.end - HOUR < start + length <= span.end
