"""Pairs and intervals: whose records are resampled, and how often the truth is inside."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.statistics.attribution.hybrid_values import MIN_UNITS, draw_pairs, resample_means
from tests.builders.attribution_worlds import carry, count_covered, draw_window


@given(st.integers(1, 80), st.integers(1, 80), st.integers(1, 100))
def test_the_larger_groups_records_are_used_once_and_the_others_about_equally_often(monitored: int, reference: int, most: int) -> None:
    pairs = draw_pairs(monitored, reference, most, np.random.default_rng(0))
    uses = [np.bincount(side, minlength=size) for side, size in ((pairs.monitored, monitored), (pairs.reference, reference))]

    assert len(pairs) == min(most, max(monitored, reference))
    assert all(np.ptp(used) <= 1 for used in uses)
    assert uses[int(monitored <= reference)].max() == 1
    assert pairs.are_reused == (len(pairs) > min(monitored, reference))


@pytest.mark.parametrize(("monitored", "reference"), [(0, 5), (5, 0), (0, 0)])
def test_an_empty_group_has_no_pairs(monitored: int, reference: int) -> None:
    assert len(draw_pairs(monitored, reference, 10, np.random.default_rng(0))) == 0


@pytest.mark.nightly
@pytest.mark.parametrize("monitored", [50, 100])
def test_intervals_hold_the_truth_where_records_are_reused_and_those_by_pair_do_not(monitored: int) -> None:
    ours = count_covered(monitored, 200, 1, is_by_pair=False)
    by_pair = count_covered(monitored, 200, 1, is_by_pair=True)

    assert 0.92 <= ours <= 0.98
    assert 0.60 <= by_pair <= 0.80


@pytest.mark.nightly
def test_intervals_hold_the_truth_where_all_records_are_distinct() -> None:
    assert 0.92 <= count_covered(600, 200, 2, is_by_pair=False) <= 0.98


def test_too_few_records_have_no_interval() -> None:
    rng = np.random.default_rng(3)
    few, enough = (carry(draw_window(size, 400, rng), 400, rng).ends for size in (MIN_UNITS - 1, MIN_UNITS))

    assert np.isnan([few.low, few.high]).all()
    assert (enough.low <= enough.high).all()


def test_the_width_is_that_of_the_mean_of_independent_pairs() -> None:
    rng = np.random.default_rng(4)
    values = rng.normal(size=(400, 2))

    ends = resample_means(values, np.arange(400), rng)

    assert ends.high - ends.low == pytest.approx(2 * 1.96 * values.std(axis=0) / 20, rel=0.08)
