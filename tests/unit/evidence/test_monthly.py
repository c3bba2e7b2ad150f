"""The second detector of the rule on many groups."""

import numpy as np
import pytest

from app.evidence.monthly import weigh_period
from app.evidence.selection import flag_groups
from tests.builders.evidence_hours import BELOW, simulate


def test_a_good_past_does_not_hide_a_late_fall() -> None:
    assert weigh_period(simulate([1.0] * 720 + [0.6] * 40, seed=1), BELOW, start=720, period_hours=720) > 1e3


def test_a_bad_past_is_no_evidence_of_this_period() -> None:
    assert weigh_period(simulate([0.5] * 200 + [1.0] * 100, seed=2), BELOW, start=200, period_hours=720) < 1


def test_a_period_without_hours_or_records_has_no_evidence() -> None:
    hours = simulate([0.5] * 100, seed=3)

    assert weigh_period(hours, BELOW, start=100, period_hours=720) == 0
    assert weigh_period(simulate([0.5] * 100, seed=3, records=0), BELOW, start=0, period_hours=720) == 0


@pytest.mark.thorough
def test_the_mean_at_the_limit_is_at_most_1_at_any_hour() -> None:
    """By simulation; at the last hour of the period it is 1 but for chance."""
    for hours in (1, 10, 30):
        found = [weigh_period(simulate([0.8] * (60 + hours), seed, records=12), BELOW, start=60, period_hours=30) for seed in range(300)]

        assert np.mean(found) <= 1 + 3 * np.std(found) / np.sqrt(len(found))


def test_of_forty_groups_those_that_fell_are_flagged() -> None:
    worlds = [simulate([0.95] * 380 + [0.6 if group < 10 else 0.95] * 340, group, records=80, share=0.5) for group in range(40)]
    flagged = flag_groups([weigh_period(hours, BELOW, start=0, period_hours=720) for hours in worlds])

    assert sorted(flagged) == list(range(10))
