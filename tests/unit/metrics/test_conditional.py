"""Disparities among like records: what they rest on, their intervals, and how long they take."""

import time

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from app.statistics.formulas.conditional_disparity import StrataOutcomes, conditional_demographic_disparity, find_limits
from app.statistics.group_labels import FloatArray, IntArray, Role
from app.statistics.intervals.verdicts import Measured, Value, judge_number
from app.statistics.measures.composites import NO_STRATA
from app.statistics.measures.measure import measure_as_logged
from app.statistics.tables.count_table import GroupCounts
from tests.builders.page_words import says
from tests.builders.results import found, reason, value

CDDPL = "conditional_demographic_disparity_in_predicted_labels"
SEXES: list[tuple[str, Role]] = [("Female", "monitored"), ("Male", "reference")]


def of_strata(codes: IntArray, outcomes: IntArray, strata: IntArray, weights: FloatArray | None = None) -> list[Measured]:
    labels = [str(place) for place in range(int(strata.max()) + 1)]
    groups: list[tuple[str, Role]] = [*SEXES, ("X", "monitored")][: int(codes.max()) + 1]
    return measure_as_logged(
        GroupCounts.from_records(groups, codes, outcome=outcomes, weights=weights, strata=(labels, strata)), metrics=[CDDPL]
    )


def test_a_disparity_rests_on_the_records_that_have_a_stratum() -> None:
    """Of a thousand records six have one."""
    codes, outcomes = np.arange(1000) % 2, np.arange(1000) // 2 % 2
    strata = np.where(np.arange(1000) < 6, 0, -1)

    result = found(of_strata(codes, outcomes, strata), CDDPL, "group", "Female")

    assert isinstance(result.number, Value)
    assert (result.number.n, result.smallest_group) == (6, 3)
    assert judge_number(result.number, lower_limit=-0.1, upper_limit=0.1, smallest_group=result.smallest_group) == "insufficient_data"
    assert "rests on 3 records" in str(result.details.caution)
    assert result.details.monitored_counts == {"unfavourable": 2, "favourable": 1}
    assert result.details.records_without_a_stratum == 994


def test_records_of_an_hour_without_strata_are_counted_as_without_one() -> None:
    codes, outcomes = np.tile([0, 1], 40), np.repeat([0, 1], 40)
    divided = GroupCounts.from_records(SEXES, codes, outcome=outcomes, strata=(("a",), np.zeros(80, np.int64)))
    plain = GroupCounts.from_records(SEXES, codes, outcome=outcomes)

    result = found(measure_as_logged(GroupCounts.merge([divided, plain]), metrics=[CDDPL]), CDDPL, "group", "Female")

    assert (result.number.n, result.details.records_without_a_stratum) == (80, 80)
    assert reason(measure_as_logged(plain, metrics=[CDDPL]), CDDPL, "group", "Female") == NO_STRATA


def test_too_many_strata_say_so_in_the_place_of_the_figure(snapshot: SnapshotAssertion) -> None:
    hours = [
        GroupCounts.from_records(SEXES, [0, 1], outcome=[1, 0], strata=([str(start + place) for place in range(600)], [0, 1]))
        for start in (0, 600)
    ]

    for metrics in (None, [CDDPL]):
        results = measure_as_logged(GroupCounts.merge(hours), metrics=metrics)
        assert says(text := reason(results, CDDPL, "worst"), "1,200", "1,000")
        assert text == snapshot


def test_the_interval_of_a_pair_does_not_depend_on_the_weights_of_another_group() -> None:
    random = np.random.default_rng(1)
    codes, outcomes, strata = np.arange(900) % 3, random.integers(0, 2, 900), random.integers(0, 3, 900)
    others = [
        value(of_strata(codes, outcomes, strata, np.where(codes == 2, random.pareto(1.0, 900) * spread, 2.0)), CDDPL, "group", "Female")
        for spread in (0.001, 1000.0)
    ]

    assert others[0] == others[1]
    assert others[0] == value(of_strata(codes, outcomes, strata), CDDPL, "group", "Female")


def test_weights_that_differ_between_the_groups_alone_leave_each_its_own_certainty() -> None:
    """A man weighs as much as four: the share of the women is small, and as sure as that of so many women and men."""
    random = np.random.default_rng(1)
    codes, outcomes = np.arange(4000) % 2, random.integers(0, 2, 4000)
    number = value(of_strata(codes, outcomes, np.zeros(4000, np.int64), np.where(codes == 1, 4.0, 1.0)), CDDPL, "group", "Female")
    resampled = []
    for _ in range(400):
        chosen = random.integers(0, 4000, 4000)
        table = np.zeros((2, 2))
        np.add.at(table, (codes[chosen], outcomes[chosen]), np.where(codes[chosen] == 1, 4.0, 1.0))
        resampled.append(float(conditional_demographic_disparity(table[0][None], table[1][None])))

    assert number.upper is not None
    assert number.lower is not None
    assert number.upper - number.lower == pytest.approx(2 * 1.96 * np.std(resampled), rel=0.1)


@pytest.mark.parametrize(("strata", "records", "weight"), [(3, 200, 1.0), (30, 200, 1.0), (100, 1000, 1.0), (3, 300, 4.0)])
def test_strata_that_differ_are_held_as_often_as_promised(strata: int, records: int, weight: float) -> None:
    """400 windows in which a stratum with more women has fewer favourable outcomes; a reference record weighs `weight`.

    Shares drawn around those of all strata together held the truth 66 times in 100 of 100 strata.
    """
    level = np.linspace(-1, 1, strata)
    women, favoured = 1 / (1 + np.exp(-level)), 1 / (1 + np.exp(np.array([0.3, -0.2]) + level[:, None]))
    chances = np.stack([women, 1 - women], axis=1)[..., None] * np.stack([1 - favoured, favoured], axis=2) / strata
    heavy = np.array([1.0, weight])[:, None]
    truth = conditional_demographic_disparity(*(chances * heavy).swapaxes(0, 1))
    windows = np.random.default_rng(5).multinomial(records, chances.ravel(), size=400).reshape(400, *chances.shape)

    monitored, reference = (
        StrataOutcomes(windows[:, :, side], windows[:, :, side] * heavy[side], windows[:, :, side] * heavy[side] ** 2) for side in (0, 1)
    )
    lower, upper = find_limits(monitored, reference)

    assert 0.93 <= np.mean((lower <= truth) & (truth <= upper)) <= 0.98


@pytest.mark.thorough
@pytest.mark.parametrize(("groups", "strata", "seconds"), [(1000, 100, 2.0), (10, 1000, 0.3)])
def test_many_groups_and_strata_are_measured_in_no_time(groups: int, strata: int, seconds: float) -> None:
    random = np.random.default_rng(1)
    named: list[tuple[str, Role]] = [(str(place), "reference" if place == 0 else "monitored") for place in range(groups)]
    codes, outcomes = random.integers(0, groups, 400_000), random.integers(0, 2, 400_000)
    labels = [str(place) for place in range(strata)]
    table = GroupCounts.from_records(named, codes, outcome=outcomes, strata=(labels, random.integers(0, strata, 400_000)))

    start = time.process_time()
    results = measure_as_logged(table, metrics=[CDDPL])

    assert time.process_time() - start < seconds
    assert len(results) == groups
