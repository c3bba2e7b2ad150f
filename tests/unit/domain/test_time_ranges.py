"""Ranges of time: presets, moments on the clock of a zone, the period before, steps of a picture."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.base.errors import InvalidInput
from app.charts.time_ranges import (
    LENGTHS,
    STEPS,
    EarlierKind,
    RangeChoice,
    RangePreset,
    choose_picture_step,
    choose_usual_preset,
    find_period_before,
    read_choice,
    read_moment,
    write_moment,
)
from app.domain.check import Span

NOW = datetime(2026, 11, 22, 12, 34, 56, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia"])
MOMENTS = st.integers(10_000_000, 63_000_000).map(lambda minutes: datetime.fromtimestamp(60 * minutes, UTC))
SPANS = st.tuples(MOMENTS, st.integers(1, 50_000_000)).map(lambda one: Span(start=one[0], end=one[0] + timedelta(minutes=one[1])))


@pytest.mark.parametrize("preset", LENGTHS)
def test_a_preset_reaches_back_from_now_by_whole_hours(preset: RangePreset) -> None:
    span = read_choice({"range": preset.value}).span(NOW)

    assert span == Span(start=NOW.replace(minute=0, second=0) - LENGTHS[preset], end=NOW)


def test_all_reaches_back_to_the_hour_of_the_oldest_check() -> None:
    choice = RangeChoice(preset=RangePreset.ALL)

    assert choice.span(NOW, oldest=NOW - timedelta(days=900)).start == NOW.replace(minute=0, second=0) - timedelta(days=900)
    assert choice.span(NOW) == choice.span(NOW, oldest=NOW + timedelta(days=1)) == RangeChoice().span(NOW)


@pytest.mark.parametrize(
    ("hours", "preset"),
    [
        (0, RangePreset.ALL),
        (25, RangePreset.ALL),
        (72, RangePreset.ALL),
        (167, RangePreset.ALL),
        (168, RangePreset.WEEK),
        (9000, RangePreset.WEEK),
    ],
)
def test_a_young_deployment_fills_the_picture_and_an_older_one_shows_a_week(hours: int, preset: RangePreset) -> None:
    oldest = NOW.replace(minute=0, second=0) - timedelta(hours=hours)
    usual = choose_usual_preset(oldest, NOW)

    assert usual is preset
    assert RangeChoice().span(NOW, usual=usual, oldest=oldest).start == max(oldest, NOW.replace(minute=0, second=0) - timedelta(days=7))
    assert choose_usual_preset(None, NOW) is RangePreset.WEEK


@settings(max_examples=100)
@given(preset=st.sampled_from([None, *RangePreset]), moments=SPANS, kind=st.sampled_from([None, *EarlierKind]), zone=ZONES)
def test_a_choice_is_read_from_its_own_query(preset: RangePreset | None, moments: Span, kind: EarlierKind | None, zone: str) -> None:
    ends = {} if preset is not None else {"start": moments.start, "end": moments.end}
    choice = RangeChoice(preset=preset, earlier=kind, zone=ZoneInfo(zone), **ends)

    assert read_choice(choice.query()) == choice


@settings(max_examples=100)
@given(moment=MOMENTS, zone=ZONES)
def test_a_moment_on_the_clock_of_a_zone_is_the_first_of_that_reading(moment: datetime, zone: str) -> None:
    there = moment.astimezone(ZoneInfo(zone))
    read = read_moment("from", f"{there:%Y-%m-%dT%H:%M}", ZoneInfo(zone))

    assert read.astimezone(ZoneInfo(zone)).replace(tzinfo=None) == there.replace(tzinfo=None)
    assert read <= moment
    assert read_moment("from", write_moment(moment), ZoneInfo(zone)) == moment


def test_an_hour_that_comes_twice_is_the_first_and_one_that_is_skipped_is_refused() -> None:
    assert read_moment("from", "2026-10-25T02:30", BERLIN) == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    with pytest.raises(InvalidInput, match="from: does not exist in Europe/Berlin"):
        read_moment("from", "2026-03-29T02:30", BERLIN)


def test_a_day_on_which_the_clocks_change_has_24_hours_as_a_preset() -> None:
    now = datetime(2026, 10, 25, 20, tzinfo=UTC)
    span = read_choice({"range": "day", "zone": "Europe/Berlin"}).span(now)

    assert span.end - span.start == timedelta(hours=24)


@pytest.mark.parametrize(
    ("field", "sent"),
    [
        ("range", {"range": "fortnight"}),
        ("range", {"range": "day", "from": "2026-03-01T09:00"}),
        ("from", {"to": "2026-03-01T09:00"}),
        ("from", {"from": "2026-03-01T09:00", "to": "2026-03-01T09:00"}),
        ("from", {"from": "2026-03-02T09:00Z", "to": "2026-03-01T09:00Z"}),
        ("from", {"from": "yesterday"}),
        ("from", {"from": "2026-13-01T09:00"}),
        ("from", {"from": "2026-03-01"}),
        ("to", {"from": "2026-03-01T09:00", "to": "9999-12-31T23:59-12:00"}),
        ("from", {"from": "0001-01-01T00:00+12:00"}),
        ("compare", {"compare": "everything"}),
        ("zone", {"zone": "Europe/Atlantis"}),
        ("zone", {"zone": "../../etc/passwd"}),
        ("zone", {"zone": "Europe"}),
        ("zone", {"zone": "x" * 1000}),
    ],
)
def test_what_cannot_be_is_refused_by_its_name(field: str, sent: dict[str, str]) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_choice(sent)

    assert [problem.field for problem in refused.value.problems] == [field]


def test_an_empty_member_is_not_chosen() -> None:
    assert read_choice({"range": "", "from": "", "to": "", "compare": "", "zone": ""}) == RangeChoice()
    assert not read_choice({}).is_chosen


def test_a_start_alone_ends_now_and_must_lie_before_it() -> None:
    assert read_choice({"from": "2026-11-01T00:00Z"}).span(NOW).end == NOW
    with pytest.raises(InvalidInput, match="from: must lie before now"):
        read_choice({"from": "2026-12-01T00:00Z"}).span(NOW)


@settings(max_examples=100)
@given(span=SPANS)
def test_the_period_before_ends_where_the_range_begins_and_is_as_long(span: Span) -> None:
    before = find_period_before(span)

    assert before is not None
    assert before.end == span.start
    assert before.end - before.start == span.end - span.start


def test_the_calendar_may_have_no_period_before() -> None:
    first = datetime(1, 1, 2, tzinfo=UTC)

    assert find_period_before(Span(start=first, end=first + timedelta(days=2))) is None


@settings(max_examples=100)
@given(span=SPANS, most=st.integers(2, 400))
def test_a_picture_has_at_most_so_many_steps_and_no_longer_ones_than_needed(span: Span, most: int) -> None:
    step, length = choose_picture_step(span, most), span.end - span.start
    shorter = [one for one in STEPS if one < step]

    assert length <= step * (most - 1)
    assert all(length > one * (most - 1) for one in shorter)
    # From a day on, steps are whole days: they are joined from days.
    assert step < timedelta(days=1) or not step % timedelta(days=1)
