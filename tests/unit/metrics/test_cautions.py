"""What carries a caution: measurements that rest on few records, whatever came out of them."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.statistics.group_labels import Role
from app.statistics.intervals.verdicts import Measured, Value
from app.statistics.measures.measure import measure_as_logged, measure_training
from app.statistics.tables.count_table import GroupCounts
from tests.builders.count_tables import count_groups
from tests.builders.results import found, value

SEXES: list[tuple[str, Role]] = [("Female", "monitored"), ("Male", "reference")]


def table(women: tuple[int, int], men: tuple[int, int]) -> GroupCounts:
    """(favourable, all) of either sex."""
    return count_groups(SEXES, [(total - favourable, favourable) for favourable, total in (women, men)])


def measured(counted: GroupCounts) -> list[Measured]:
    """Every metric of predictions, and of labels, of the same counts."""
    return [*measure_as_logged(counted, draws=20), *measure_training(counted, draws=20)]


@st.composite
def sizes_with_outcomes(draw: st.DrawFn) -> list[GroupCounts]:
    """The same records twice, with other outcomes."""
    women, men = draw(st.integers(1, 40)), draw(st.integers(1, 40))
    return [table((draw(st.integers(0, women)), women), (draw(st.integers(0, men)), men)) for _ in range(2)]


@given(sizes_with_outcomes())
@pytest.mark.nightly
def test_whether_a_measurement_is_cautioned_does_not_depend_on_the_outcomes(tables: list[GroupCounts]) -> None:
    one, other = (measured(each) for each in tables)

    for first, second in zip(one, other, strict=True):
        assert (first.metric, first.scope, first.group) == (second.metric, second.scope, second.group)
        if first.scope != "worst_pair" and isinstance(first.number, Value) and isinstance(second.number, Value):
            assert first.details.caution == second.details.caution


@pytest.mark.parametrize(("women", "cautioned"), [(9, True), (10, False), (200, False)])
def test_fewer_than_ten_records_in_a_group_compared_are_cautioned(women: int, cautioned: bool) -> None:  # noqa: FBT001 - a case
    results = measured(table((women // 2, women), (100, 200)))

    for metric in ("disparate_impact", "statistical_parity_difference", "total_variation_distance"):
        details = found(results, metric, "pooled").details
        assert (details.caution is not None) is cautioned


@pytest.mark.nightly
def test_windows_of_a_rare_outcome_in_a_small_group_hold_what_they_promise() -> None:
    """500 records, 50 of them women, of whom 5 in 100 are favourable: none is cautioned, and 95 in 100 hold the truth.

    With a caution for fewer than five favourable ones a tenth of the windows had none, and of these 6 in 10 held it.
    """
    random = np.random.default_rng(1)
    held = {"favourable_rate": [], "disparate_impact": [], "statistical_parity_difference": []}  # type: dict[str, list[bool]]
    truths = {"favourable_rate": 0.05, "disparate_impact": 1.0, "statistical_parity_difference": 0.0}
    drawn = zip(random.binomial(50, 0.05, 2_000).tolist(), random.binomial(450, 0.05, 2_000).tolist(), strict=True)
    # Few pairs of counts are distinct, and equal counts have equal results.
    for (women, men), times in Counter(drawn).items():
        results = measure_as_logged(table((women, 50), (men, 450)), metrics=truths, draws=1)
        assert not any(figure.details.caution is not None for figure in results)
        for metric, truth in truths.items():
            number = value(results, metric, "group", "Female")
            assert number.lower is not None
            held[metric] += [number.lower <= truth and (number.upper is None or truth <= number.upper)] * times

    assert {metric: bool(0.935 <= np.mean(each) <= 0.985) for metric, each in held.items()} == dict.fromkeys(truths, True)
