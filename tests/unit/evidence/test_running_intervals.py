"""Intervals of several figures that are given their next hours together."""

from itertools import product

import numpy as np
import pytest

from app.statistics.e_values.confidence import RunningInterval, add_hours
from app.statistics.e_values.nulls import Scale
from tests.builders.evidence_hours import simulate


@pytest.mark.parametrize(
    "sizes",
    [  # the same sizes in another order are thorough
        pytest.param(sizes, marks=() if list(sizes) == sorted(sizes) else pytest.mark.thorough) for sizes in product((0, 1, 3), repeat=3)
    ],
)
def test_figures_together_get_the_interval_that_each_gets_alone(sizes: tuple[int, ...]) -> None:
    hours = [simulate([0.9] * size, seed) for seed, size in enumerate(sizes)]
    together, alone = ([RunningInterval.empty(Scale.RATIO) for _ in sizes] for _ in range(2))
    add_hours(together, hours, [np.ones(size) for size in sizes])
    for interval, own in zip(alone, hours, strict=True):
        add_hours([interval], [own], [np.ones(len(own))])

    for one, other in zip(together, alone, strict=True):
        assert np.array_equal(one.below, other.below)
        assert np.array_equal(one.above, other.above)
        assert np.array_equal(one.counts, other.counts)
