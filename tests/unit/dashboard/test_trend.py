"""The small line of a figure in its last checks."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from app.charts.forest import StripPoint
from app.pages.deployment.trend import TREND_HEIGHT, Trend, draw_trend

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
NUMBERS_APART = 13
"""Px."""


def _point(no: int, value: float | None) -> StripPoint:
    return StripPoint(check_id=f"{no}", at=NOON + timedelta(hours=no), value=value, verdict=None, carried_forward=False)


def drawn(*values: float | None, metric: str = "disparate_impact", limits: tuple[float | None, float | None] = (0.8, 1.25)) -> Trend | None:
    points = [_point(no, value) for no, value in enumerate(values)]
    return draw_trend(points, metric=metric, limits=limits)


def test_limits_and_equality_have_their_numbers_and_the_line_has_its_times() -> None:
    found = drawn(0.5, None, 0.7, limits=(0.5, 2))

    assert found is not None
    assert [(level.text, level.is_limit) for level in found.levels] == [("0.5", True), ("2", True), ("1", False)]
    assert (found.start, found.end) == (NOON, NOON + timedelta(hours=2))
    assert len(found.dots) == 2


def test_equality_is_left_out_where_its_number_would_cover_that_of_a_limit() -> None:
    found = drawn(0.5, limits=(0.99, None))

    assert found is not None
    assert [level.text for level in found.levels] == ["0.99"]


def test_the_equality_of_a_difference_is_0() -> None:
    found = drawn(-0.4, 0.2, metric="statistical_parity_difference", limits=(-0.1, None))

    assert found is not None
    assert [level.text for level in found.levels] == ["−0.1", "0"]


def test_without_a_figure_there_is_no_line() -> None:
    assert drawn(None, None) is None


@given(st.lists(st.floats(0, 50), min_size=1, max_size=5), st.floats(0.05, 1), st.floats(1, 20))
def test_larger_figures_are_higher_and_all_is_in_the_box(values: list[float], low: float, high: float) -> None:
    found = drawn(*values, limits=(low, high))

    assert found is not None
    assert all(0 <= mark.y <= TREND_HEIGHT for mark in (*found.dots, *found.levels))
    order = sorted(found.dots, key=lambda one: one.point.value or 0.0)
    assert all(first.y >= second.y for first, second in pairwise(order))
    equal = next((level for level in found.levels if not level.is_limit), None)
    assert equal is None or all(abs(equal.y - level.y) >= NUMBERS_APART for level in found.levels if level.is_limit)
