"""Planning: the simulated delay is that of the detector itself."""

import numpy as np
import pytest

from app.statistics.e_values.expected_delays import Traffic
from tests.builders.evidence_hours import ABOVE, BELOW, follow_months, simulate
from tests.builders.simulated_delays import MAX_HOURS, simulate_delay

YEAR = 8760.0


@pytest.mark.nightly
@pytest.mark.parametrize(("ratio", "records"), [(0.6, 300), (0.7, 300), (0.5, 60)])
def test_nine_of_ten_alarms_come_within_the_planned_hours(ratio: float, records: int) -> None:
    planned = simulate_delay(BELOW, Traffic(0.3 * records, 0.7 * records, 0.5), 0.5 * ratio, YEAR)
    assert planned is not None
    found = [
        follow_months(simulate([0.95] * 60 + [ratio] * (4 * planned.hours), seed, records=records)).episodes[0].alarm - 59
        for seed in range(200)
    ]

    assert planned.hours == pytest.approx(np.quantile(found, 0.9), rel=0.1, abs=1)


def test_records_are_hours_times_traffic() -> None:
    planned = simulate_delay(BELOW, Traffic(90, 210, 0.5), 0.3, YEAR)

    assert planned is not None
    assert planned.records == 300 * planned.hours


def test_more_certainty_less_traffic_and_a_smaller_gap_need_more_hours() -> None:
    def hours(probability: float = 0.9, records: float = 300, ratio: float = 0.6) -> int:
        planned = simulate_delay(BELOW, Traffic(0.3 * records, 0.7 * records, 0.5), 0.5 * ratio, YEAR, probability=probability)
        assert planned is not None
        return planned.hours

    assert hours(probability=0.5) < hours() < hours(probability=0.99)
    assert hours() < min(hours(records=100), hours(ratio=0.7))


def test_a_ratio_above_the_upper_limit_is_planned_too() -> None:
    planned = simulate_delay(ABOVE, Traffic(90, 210, 0.4), 0.64, YEAR)

    assert planned is not None
    assert planned.hours < 40


def test_a_delay_of_more_than_two_years_is_not_shown() -> None:
    assert MAX_HOURS == 2 * 8760
    assert simulate_delay(BELOW, Traffic(0.001, 0.001, 0.5), 0.2, YEAR) is None
