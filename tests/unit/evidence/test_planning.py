"""Planned delays agree with simulated detectors."""

import math

import pytest

from app.statistics.e_values.expected_delays import Traffic, expect_delay_within
from app.statistics.e_values.nulls import Limit, Scale, UnfairSide
from tests.builders.simulated_delays import simulate_delay

BELOW = Limit(Scale.RATIO, UnfairSide.BELOW, 0.8, 1.25)
ABOVE = Limit(Scale.RATIO, UnfairSide.ABOVE, 1.25, 0.8)
THRESHOLD = 2 * 8760.0


@pytest.mark.parametrize(
    "traffic", [Traffic(18, 42, 0.5), pytest.param(Traffic(90, 210, 0.5), marks=pytest.mark.thorough), Traffic(50, 950, 0.2)]
)
@pytest.mark.parametrize(("limit", "ratio"), [(BELOW, 0.5), (BELOW, 0.65), (BELOW, 0.7), (ABOVE, 1.5), (ABOVE, 1.8)])
def test_the_hours_of_nine_in_ten_detectors_are_within_a_quarter(traffic: Traffic, limit: Limit, ratio: float) -> None:
    simulated = simulate_delay(limit, traffic, ratio * traffic.rate, THRESHOLD)
    planned = expect_delay_within(limit, traffic, ratio * traffic.rate, THRESHOLD, probability=0.9)

    assert simulated is not None
    assert planned is not None
    assert abs(planned - simulated.hours) <= max(1, 0.25 * simulated.hours)


def test_more_certainty_takes_longer() -> None:
    hours = [expect_delay_within(BELOW, Traffic(18, 42, 0.5), 0.35, THRESHOLD, probability=chance) for chance in (0.5, 0.8, 0.9, 0.99)]

    assert None not in hours
    assert sorted(set(hours), key=lambda one: one or math.inf) == hours


@pytest.mark.parametrize("ratio", [0.7999, 0.8, 0.9])
def test_no_time_is_given_at_the_limit_or_inside_it(ratio: float) -> None:
    assert expect_delay_within(BELOW, Traffic(18, 42, 0.5), ratio * 0.5, THRESHOLD, probability=0.9) is None
