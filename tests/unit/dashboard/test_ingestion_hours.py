"""The hours of a range of ingestion: whole ones, and of a preset as many as it is long."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.base.clock import HOUR
from app.charts.time_ranges import RangeChoice, RangePreset
from app.domain.check import Span
from app.domain.record_times import RecordSource
from app.intake.volume.hourly_view import IngestionHour
from app.pages.intake_page import draw_arrivals, find_whole_hours

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


def test_bars_of_an_hour_stand_on_each_other_and_few_rejected_are_seen() -> None:
    quiet: dict[str, Any] = {"feedback": {}, "rejected": 0, "unreadable_requests": 0, "not_received": 0, "left_out": 0}
    hours = [
        IngestionHour(**quiet | {"hour": NOON, "payload": {RecordSource.REST: 5_998}, "rejected": 2}),
        IngestionHour(**quiet | {"hour": NOON - HOUR, "payload": {RecordSource.REST: 1_000}, "not_received": 3_000}),
    ]

    picture = draw_arrivals(hours, Span(start=NOON - HOUR, end=NOON + HOUR), ZoneInfo("UTC"))

    assert picture.sentence == "Records: 6,998 received, 2 rejected, 3,000 lost; at most 6,000 in an hour."
    assert dict(picture.paths) == {
        "received": "M500.0 0.0h450.0v48.0h-450.0zM0.0 40.0h450.0v8.0h-450.0z",
        "rejected": "M500.0 -1.5h450.0v1.5h-450.0z",
        "lost": "M0.0 16.0h450.0v24.0h-450.0z",
    }
