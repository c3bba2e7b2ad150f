"""Places of ratios on a logarithmic axis."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.charts.pictures.axes import LogAxis

RATIOS = st.floats(0, 1e300)


@pytest.mark.parametrize(("ratio", "place"), [(0.25, 0), (0.5, 0.25), (1, 0.5), (2, 0.75), (4, 1), (0, 0), (0.1, 0), (9, 1), (math.inf, 1)])
def test_equal_factors_are_equal_distances_and_beyond_an_end_is_the_end(ratio: float, place: float) -> None:
    assert LogAxis().place(ratio) == pytest.approx(place)
    assert LogAxis().holds(ratio) is (0.25 <= ratio <= 4)


@given(RATIOS, RATIOS)
def test_a_larger_ratio_is_never_further_left(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert 0 <= LogAxis().place(low) <= LogAxis().place(high) <= 1
