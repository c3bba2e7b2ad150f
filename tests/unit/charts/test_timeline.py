"""Panels of groups over one time: places on the common axes, and what is kept where many checks share a step."""

import re
from datetime import datetime, timedelta
from itertools import pairwise
from xml.etree import ElementTree as ET
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from app.charts.pictures.period_charts import ReportRowMarks, build_axis, draw_row, draw_row_axis
from app.charts.pictures.timeline_picture import (
    HEIGHT,
    WIDTH,
    PanelPicture,
    TimeAxis,
    build_level_axis,
    draw_moments,
    draw_panel,
    draw_stretches,
    draw_volume,
    name_step,
    say_steps,
)
from app.charts.timeline import TimePanel, join_points
from app.checks.days.day_queries import CheckStep
from app.domain.check import Span
from tests.builders.chart_data import HOUR, START, point
from tests.builders.page_words import says
from tests.builders.timelines import panel_of, panel_of_points

IMPACT = "disparate_impact"


def drawn(panel: TimePanel, *, hours: int = 10, metric: str = IMPACT) -> PanelPicture:
    """The picture of a panel on an axis of so many hours."""
    return draw_panel(panel, metric, TimeAxis(span=Span(start=START, end=START + hours * HOUR)), build_level_axis(metric, [panel]))


def numbers(path: str) -> list[float]:
    """The numbers of a path."""
    return [float(number) for number in re.findall(r"-?\d+\.?\d*", path)]


def test_a_check_lies_at_its_time_and_a_ratio_and_its_inverse_are_equally_far_from_one() -> None:
    low, equal, high = drawn(panel_of(0.5, 1.0, 2.0)).places
    middles = [one.y + one.height / 2 for one in (low, equal, high)]

    assert [one.x for one in (low, equal, high)] == [100, 200, 300]
    assert middles[1] == HEIGHT / 2
    assert middles[0] - middles[1] == pytest.approx(middles[1] - middles[2])


def test_the_axis_holds_the_values_and_has_numbers_at_one_and_at_the_limits() -> None:
    for value in (0.9, 0.3, 3.0):
        axis = build_level_axis(IMPACT, [panel_of(value)])

        assert axis.values.holds(value)
        assert {"0.8", "1"} <= {tick.text for tick in axis.ticks}
        assert all(before.y - after.y >= 11 for before, after in pairwise(axis.ticks))
        assert next(tick.y for tick in axis.ticks if tick.text == "1") == pytest.approx(axis.place_from_top(1.0), abs=0.1)


def test_the_limits_are_lines_at_their_values() -> None:
    panel = panel_of(0.5, 0.9)
    heights = [float(line.split("H")[0].split()[1]) for line in drawn(panel).limits.split("M")[1:]]

    assert heights == [pytest.approx(build_level_axis(IMPACT, [panel]).place_from_top(0.8), abs=0.1)]


def test_a_figure_beyond_the_axis_is_an_arrow_at_the_edge_and_counted_in_words(snapshot: SnapshotAssertion) -> None:
    picture = drawn(panel_of(0.001, 0.9, 90.0))
    ((_, path),) = picture.bars
    below, inside, above = path.split("M")[1:]

    assert picture.beyond == 2
    assert says(picture.beyond_note, "2", "3")
    assert picture.beyond_note == snapshot
    assert f"L100.0 {HEIGHT}" in below
    assert "h" in inside
    assert "L300.0 0L" in above
    assert drawn(panel_of(0.9, 0.8)).beyond_note == ""


def test_a_step_that_reaches_over_an_end_keeps_the_part_on_the_axis(snapshot: SnapshotAssertion) -> None:
    (bar,) = drawn(panel_of(0.9, 90.0, step=timedelta(days=1)), hours=24).bars

    assert [part[-1] for part in bar[1].split("M")[1:]] == ["z", "z"]
    assert drawn(panel_of(90.0)).beyond_note == snapshot


@settings(max_examples=60)
@given(
    values=st.lists(st.one_of(st.none(), st.floats(0, 30)), min_size=1, max_size=40),
    hours=st.sampled_from([1, 2, 24]),
    metric=st.sampled_from([IMPACT, "statistical_parity_difference", "favourable_rate"]),
)
def test_every_picture_stays_within_its_panel_and_keeps_the_extremes(values: list[float | None], hours: int, metric: str) -> None:
    panel = panel_of(*values, step=hours * HOUR)
    picture = drawn(panel, hours=len(values) + 1, metric=metric)
    known = [value for value in values if value is not None]

    assert all(0 <= bar.y <= bar.y + bar.height <= HEIGHT + 0.2 for bar in picture.places)
    assert all(-1 <= bar.x <= WIDTH + 1 for bar in picture.places)
    assert "nan" not in "".join((picture.band, picture.hull, picture.line, picture.carried, *(path for _, path in picture.bars)))
    assert {bar.step.lowest for bar in picture.places} | {bar.step.highest for bar in picture.places} <= set(known)
    assert sum(step.figures for step in panel.steps) == len(values)
    if known:
        assert min(bar.step.lowest or 0 for bar in picture.places) == min(known)
        assert max(bar.step.highest or 0 for bar in picture.places) == max(known)


def test_a_step_of_many_checks_has_the_colour_of_the_gravest_and_a_carried_one_is_hollow(snapshot: SnapshotAssertion) -> None:
    points = [point(1, 0.5, verdict="unfair"), point(2, 0.9), point(25, 0.9, carried_forward=True)]
    picture = drawn(panel_of_points(points, step=timedelta(days=1)), hours=48)

    assert [verdict for verdict, _ in picture.bars] == ["unfair"]
    assert picture.carried
    assert says(said := say_steps(IMPACT, [bar.step for bar in picture.places]), "2", "unfair", "1", "fair", "1", "0.50", "0.90", "1")
    assert said == snapshot


def test_a_line_ends_at_a_gap_and_where_the_definition_changes() -> None:
    gap = drawn(panel_of(0.9, 0.9, 0.9, None, None, 0.9, 0.9))
    changed = drawn(panel_of_points([point(hour, 0.9, definition=1 + hour // 3) for hour in range(1, 6)]))

    assert gap.line.count("M") == 2
    assert changed.line.count("M") == 2


def test_an_open_interval_reaches_the_edge() -> None:
    picture = drawn(panel_of_points([point(hour, 0.9, lower=None, upper=None) for hour in (1, 2)]))

    assert {0.0, float(HEIGHT)} <= set(numbers(picture.hull))


def test_steps_next_to_each_other_are_one_box_and_moments_of_one_place_one_line() -> None:
    axis = TimeAxis(span=Span(start=START, end=START + 10 * HOUR))

    assert draw_stretches([START, START + HOUR, START + 5 * HOUR], HOUR, axis).count("M") == 2
    assert draw_moments([START, START, START + HOUR], axis).count("M") == 2


def test_records_are_columns_of_hours_from_zero_to_the_most() -> None:
    axis = TimeAxis(span=Span(start=START, end=START + 10 * HOUR))
    half = timedelta(minutes=30)
    checks = [CheckStep(START + place * HOUR + half, 0, None, 0, logged) for place, logged in enumerate((10, None, 20))]
    columns = [numbers(one) for one in draw_volume(checks, half, axis).split("M")[1:]]

    assert [(column[0], column[3]) for column in columns] == [(0, 24), (200, 48)]


def test_a_row_of_a_report_has_the_same_paths_its_scale_and_whole_marks_at_both_ends() -> None:
    span = Span(start=START, end=START + 10 * HOUR)
    axis = build_axis(span)
    panel = panel_of(0.01, 0.7, None, 9.0)
    picture = draw_panel(panel, IMPACT, axis, build_level_axis(IMPACT, [panel]))
    outside = [Span(start=START + 2 * HOUR, end=span.end)]
    svg = draw_row(
        picture, axis, ReportRowMarks(outside=outside, changes=[START + HOUR], alerts=[span.start, span.end], gaps="M1 0h1v1h-1z")
    )

    root = ET.fromstring(svg)  # noqa: S314 - our own
    assert root.get("aria-hidden") == "true"
    assert all(f'd="{path}"' in svg for _, path in picture.bars)
    assert {tick.text for tick in picture.ticks} <= set(root.itertext())
    alerts = [float(mark.get("x", "")) for mark in root.iter("{http://www.w3.org/2000/svg}svg") if mark.get("overflow") == "visible"]
    assert [5 <= x <= 640 - 48 - 5 for x in alerts] == [True, True]
    rules = [float(line.get("x1", "")) for line in root.iter("{http://www.w3.org/2000/svg}line")]
    assert alerts[0] < rules[0] < rules[1] < alerts[1]


@pytest.mark.parametrize(
    ("start", "length", "texts"),
    [
        (START + timedelta(minutes=21), 15 * HOUR, "03:00 06:00 09:00 12:00 15:00"),
        (START + timedelta(minutes=21), timedelta(days=3), "01 Mar 12:00 02 Mar 12:00 03 Mar 12:00 04 Mar"),
        (START, timedelta(days=60), "09 Mar 23 Mar 06 Apr 20 Apr"),
    ],
)
def test_the_axis_of_a_report_has_round_times(start: datetime, length: timedelta, texts: str) -> None:
    svg = draw_row_axis(build_axis(Span(start=start, end=start + length)), ZoneInfo("UTC"))

    assert " ".join(re.findall(r">([^<>]+)</text>", svg)) == texts


def test_steps_join_what_a_day_holds_whatever_the_step() -> None:
    points = [point(hour, 0.5 + hour / 100) for hour in range(1, 49)]
    span = Span(start=START, end=START + 48 * HOUR)
    days, hours = join_points(points, span, timedelta(days=1)), join_points(points, span, HOUR)

    assert [(day.lowest, day.highest, day.figures) for day in days] == [(0.51, 0.74, 24), (0.75, 0.98, 24)]
    assert all(after.start == before.end for before, after in pairwise(days))
    assert len(hours) == 48


@pytest.mark.parametrize(
    ("step", "name"),
    [(HOUR, "hour"), (6 * HOUR, "6 hours"), (timedelta(days=1), "day"), (timedelta(days=28), "4 weeks"), (HOUR / 2, "30 minutes")],
)
def test_a_step_has_a_name(step: timedelta, name: str) -> None:
    assert name_step(step) == name
