"""Intervals that have no closed form: posterior draws, and what is done about figures that are too large by chance alone."""

import math

import numpy as np
import pytest
from scipy.stats import beta, binom, ncx2
from syrupy.assertion import SnapshotAssertion

from app.statistics.formulas import differential_fairness as differential
from app.statistics.group_labels import IntArray, Role, build_groups
from app.statistics.intervals import draws as drawing
from app.statistics.intervals.draws import DrawnCells, build_intervals, build_intervals_of_parts, build_squares_interval
from app.statistics.intervals.verdicts import Measured, Undefined, Value, Verdict, judge_number
from app.statistics.measures.measure import measure_as_logged, measure_labelled, measure_training
from app.statistics.tables.count_table import GroupCounts, LabelledCells
from tests.builders.page_words import says
from tests.builders.results import found, value

BETWEEN = "between_all_groups_theil_index"
SEXES: list[tuple[str, Role]] = [("Female", "monitored"), ("Male", "reference")]


def cells(counts: list[list[int]], *, weight: float = 1.0, draws: int = 4_000) -> DrawnCells:
    known = np.array(counts)
    return DrawnCells(known, known * weight, known * weight**2, seed=1, draws=draws, tag=0)


def feedback(confusion: IntArray) -> LabelledCells:
    """A table from cells [groups, actual 2, predicted 2]."""
    counts = np.zeros((len(confusion) + 1, 3, 3, 2), np.int64)
    for actual in (0, 1):
        for predicted in (0, 1):
            counts[:-1, actual, predicted, int(actual == predicted)] = confusion[:, actual, predicted]
    groups = SEXES if len(confusion) == 2 else [(f"g{place}", SEXES[int(place > 0)][1]) for place in range(len(confusion))]
    return LabelledCells(build_groups(groups), counts)


def measured(confusion: IntArray, *metrics: str, draws: int = 400) -> list[Measured]:
    return measure_labelled(feedback(confusion), metrics=metrics, draws=draws)


def reaches(number: Value | Undefined, truth: float) -> bool:
    assert isinstance(number, Value)
    return (number.lower is None or number.lower <= truth) and (number.upper is None or truth <= number.upper)


def test_draws_of_a_rate_have_the_quantiles_of_its_jeffreys_posterior() -> None:
    drawn = cells([[7, 3]], draws=20_000).join_columns([(0,)]).drawn[:, 0]

    rates = drawn[:, 1] / drawn.sum(axis=-1)

    assert np.quantile(rates, [0.025, 0.5, 0.975]) == pytest.approx(beta.ppf([0.025, 0.5, 0.975], 3.5, 7.5), abs=0.01)


def test_records_of_equal_weight_are_drawn_as_if_they_weighed_one() -> None:
    plain, weighed = (cells([[7, 3], [5, 5]], weight=weight).join_columns([(0,), (1,)]).drawn for weight in (1.0, 4.0))

    assert weighed == pytest.approx(4 * plain)


def test_each_cell_is_drawn_with_the_variance_of_its_own_weights() -> None:
    counts, weight = np.array([[40, 500]]), np.array([[10.0, 2.0]])
    known = DrawnCells(counts, counts * weight, counts * weight**2, seed=1, draws=100_000, tag=0)

    drawn = known.join_columns([(0,)]).drawn[:, 0]

    assert drawn.mean(axis=0) == pytest.approx([405, 1001], rel=0.01)  # with half a record of each
    assert drawn.var(axis=0) == pytest.approx([4050, 2002], rel=0.03)


def test_limits_of_a_share_are_those_of_as_many_records_as_have_its_variance() -> None:
    """100 records of weight 1 with one outcome, 10 of weight 10 with the other: the share varies as that of 36 records."""
    counts, weight = np.array([[100, 10]]), np.array([[1.0, 10.0]])
    known = DrawnCells(counts, counts * weight, counts * weight**2, seed=1, draws=1, tag=0)

    variance = (100 * 0.5**2 + 1000 * 0.5**2) / 200**2
    assert known.join_columns([(0,)]).shapes.sum() == pytest.approx(0.25 / variance + 1)


def test_a_distance_reaches_to_zero_unless_the_difference_is_surely_not_zero() -> None:
    random = np.random.default_rng(2)
    signed = np.stack([random.normal(0.1, 0.1, 5_000), random.normal(0.5, 0.1, 5_000)], axis=1)

    near, far = build_intervals(np.array([0.1, 0.5]), np.abs(signed), 0.0, vanishing=signed[..., None])

    assert near.lower == 0
    assert far.lower == pytest.approx(0.5 - 1.96 * 0.1, abs=0.02)
    assert far.upper == pytest.approx(0.5 + 1.96 * 0.1, abs=0.02)


def test_the_largest_of_two_equal_distances_has_the_ends_of_one_of_them() -> None:
    """The draws' own maximum would lie higher than both."""
    signed = np.random.default_rng(2).normal(0.5, 0.1, (5_000, 1, 2))
    parts = np.abs(signed)

    interval = build_intervals_of_parts(np.array([0.5]), parts, 0.0, vanishing=signed, reduce=np.max)[0]

    assert interval.lower == pytest.approx(0.5 - 1.96 * 0.1, abs=0.02)
    assert interval.upper == pytest.approx(0.5 + 1.96 * 0.1, abs=0.02)
    assert interval.lower < np.quantile(parts.max(axis=-1), 0.025)


def test_a_part_that_may_be_zero_adds_nothing_to_the_lower_end_of_a_mean() -> None:
    random = np.random.default_rng(2)
    signed = np.stack([random.normal(0.02, 0.1, 5_000), random.normal(0.6, 0.1, 5_000)], axis=1)[:, None]

    interval = build_intervals_of_parts(np.array([0.31]), np.abs(signed), 0.0, vanishing=signed, reduce=np.mean)[0]

    assert interval.lower == pytest.approx((0.6 - 1.96 * 0.1) / 2, abs=0.01)


@pytest.mark.parametrize("power", [1, 2])
def test_a_sum_of_squares_has_the_limits_of_the_noncentrality(power: int) -> None:
    """Of 0.03 times a chi-square variate of 4 degrees whose noncentrality appears to be 20."""
    square = 0.03 * ncx2.rvs(4, 20, size=200_000, random_state=3)

    interval = build_squares_interval(0.6 ** (1 / power), square ** (1 / power), 4, power)

    assert interval.upper is not None
    assert ncx2.cdf(0.6 / 0.03, 4, interval.lower**power / 0.03) == pytest.approx(0.975, abs=0.002)
    assert ncx2.cdf(0.6 / 0.03, 4, interval.upper**power / 0.03) == pytest.approx(0.025, abs=0.002)


def test_a_sum_of_squares_that_chance_alone_explains_reaches_to_zero_and_one_without_draws_keeps_to_its_point() -> None:
    square = 0.03 * ncx2.rvs(4, 5, size=20_000, random_state=3)

    assert build_squares_interval(0.15, square, 4, 1).lower == 0
    assert build_squares_interval(0.15, np.array([np.nan]), 4, 1)[:2] == (0.15, 0.15)


@pytest.mark.parametrize("power", [1, 2])
def test_a_sum_of_squares_that_is_exactly_zero_reaches_as_far_as_its_draws(power: int) -> None:
    """No noncentrality explains a zero, yet groups of a few records that happen to be alike prove no equality."""
    square = 0.03 * ncx2.rvs(4, 1e-9, size=20_000, random_state=3)

    interval = build_squares_interval(0.0, square ** (1 / power), 4, power)

    assert interval.lower == 0
    assert interval.upper == pytest.approx((0.03 * ncx2.ppf(0.975, 4, 1e-9)) ** (1 / power), rel=0.05)


def test_groups_of_twelve_that_happen_to_be_alike_are_not_surely_equal() -> None:
    number = value(measured(np.full((3, 2, 2), 3), BETWEEN), BETWEEN, "attribute")

    assert (number.value, number.lower) == (0, 0)
    assert number.upper is not None
    assert number.upper > 0.01


SPREAD = "equalized_odds_difference_across_groups"
ACROSS = (BETWEEN, "smoothed_empirical_differential_fairness", "differential_fairness_bias_amplification", SPREAD)


@pytest.mark.parametrize("metric", ACROSS)
def test_a_tiny_group_is_one_of_all_groups_and_the_figure_without_it_is_given_too(metric: str) -> None:
    large = np.array([[[30, 10], [10, 30]], [[25, 15], [20, 40]]])
    tiny = np.array([[[0, 3], [0, 0]]])

    alone, beside = (found(measured(cells, metric), metric, "attribute") for cells in (large, np.concatenate([large, tiny])))

    assert isinstance(alone.number, Value)
    assert isinstance(beside.number, Value)
    assert abs(beside.number.value - alone.number.value) > 1e-4
    assert (beside.number.n, beside.smallest_group, beside.details.groups) == (alone.number.n + 3, 3, 3)
    assert beside.details.smallest_group == "g2"
    assert beside.details.caution is not None
    assert (beside.details.small_groups, beside.details.records_of_small_groups) == (1, 3)
    assert beside.details.value_without_small_groups == alone.number.value
    assert not {"small_groups", "value_without_small_groups", "caution"} & alone.details.to_json().keys()


def test_no_verdict_rests_on_a_tiny_group() -> None:
    metric = "smoothed_empirical_differential_fairness"
    result = found(measured(np.array([[[30, 10], [10, 30]], [[25, 15], [20, 40]], [[0, 3], [0, 0]]]), metric), metric, "attribute")

    judged = judge_number(result.number, lower_limit=None, upper_limit=0.2231, smallest_group=result.smallest_group)

    assert isinstance(result.number, Value)
    assert result.number.value > 0.2231
    assert judged is Verdict.INSUFFICIENT_DATA


@pytest.mark.parametrize("metric", ACROSS)
def test_beside_one_larger_group_there_is_no_figure_without_the_tiny_ones(metric: str) -> None:
    result = found(measured(np.array([[[30, 10], [10, 30]], [[1, 1], [0, 1]], [[1, 0], [1, 1]]]), metric), metric, "attribute")

    assert (result.details.groups, result.smallest_group) == (3, 3)
    assert result.details.value_without_small_groups is None


@pytest.mark.parametrize("scope", ["group", "pooled"])
def test_one_heavy_record_makes_a_small_group_of_every_composite(scope: str) -> None:
    """Two hundred records of which one weighs more than all others are as sure as one."""
    codes, outcomes = np.repeat([0, 1], 200), np.tile([0, 1], 200)
    weights = np.r_[1e4, np.ones(399)]
    table = GroupCounts.from_records(SEXES, codes, outcome=outcomes, weights=weights, strata=(("all",), np.zeros(400, np.int64)))

    results = measure_training(table)

    for metric in ("total_variation_distance", "conditional_demographic_disparity_in_labels"):
        assert found(results, metric, scope, "Female" if scope == "group" else None).smallest_group == 1
    assert found(results, "smoothed_empirical_differential_fairness", "attribute").smallest_group == 1


def test_fewer_draws_than_were_asked_for_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    confusion = np.array([[[30, 10], [10, 30]], [[25, 15], [20, 40]]])
    metrics = {"average_odds_difference": "pooled", "f1": "pooled", BETWEEN: "attribute"}
    plain = measured(confusion, *metrics)
    monkeypatch.setattr(drawing, "MAX_DRAWN_NUMBERS", 8 * 250)

    fewer = measured(confusion, *metrics)

    for metric, scope in metrics.items():
        assert found(plain, metric, scope).details.draws is None
        assert (found(fewer, metric, scope).details.draws or 0) < 400


def test_the_limits_of_differential_fairness_of_two_groups_combine_those_of_their_log_rates() -> None:
    shapes = np.array([[60.5, 20.5], [40.5, 80.5]])
    log = np.log(shapes[:, 1] / shapes.sum(axis=1))
    low, high = np.log(beta.ppf([[0.025], [0.975]], shapes[:, 1], shapes[:, 0]))
    difference = log[1] - log[0]

    lower, upper = differential.find_limits(shapes)

    assert lower == pytest.approx(difference - math.hypot(log[1] - low[1], high[0] - log[0]))
    assert upper == pytest.approx(difference + math.hypot(high[1] - log[1], log[0] - low[0]))


def test_a_group_without_a_label_takes_no_part_in_the_spread_of_its_rate() -> None:
    three = np.array([[[30, 10], [10, 30]], [[25, 15], [20, 40]], [[0, 0], [9, 11]]])
    spread, ratio = (value(measured(three, key), key, "attribute") for key in (SPREAD, "equalized_odds_ratio_across_groups"))

    assert (spread.value, ratio.value) == pytest.approx((0.75 - 0.55, 0.25 / 0.375))
    assert spread.upper is not None
    assert spread.upper < 0.5


@pytest.mark.thorough
@pytest.mark.parametrize(("groups", "apart"), [(2, 0.0), (5, 0.25), (15, 0.0)])
def test_the_spread_of_the_odds_is_held_as_often_as_promised(groups: int, apart: float) -> None:
    rng, worlds, held = np.random.default_rng(groups), 200, 0
    rates = np.full((groups, 2), [0.3, 0.7]) - np.eye(groups, 2)[:, ::-1] * apart
    for _ in range(worlds):
        favourable = rng.binomial(30, rates)
        number = value(measured(np.stack([30 - favourable, favourable], axis=2), SPREAD), SPREAD, "attribute")
        assert number.lower is not None
        assert number.upper is not None
        held += number.lower <= max(np.ptp(rates, axis=0)) + 1e-9 <= number.upper + 2e-9

    assert held >= binom.ppf(0.001, worlds, 0.95)


def test_the_lower_limit_of_differential_fairness_asks_for_more_the_more_groups_there_are() -> None:
    pair = np.array([[60.5, 20.5], [40.5, 80.5]])
    several = np.concatenate([pair, np.full((8, 2), 50.5)])

    assert differential.find_limits(several)[0] < differential.find_limits(pair)[0]
    assert differential.find_limits(np.full((3, 2), 50.5))[0] == 0


def test_the_labels_of_alike_groups_leave_the_amplification_room_up_to_all_that_the_predictions_show() -> None:
    alike, apart = np.array([50.5, 50.5]), np.array([[70.5, 30.5], [30.5, 70.5]])
    shapes = np.stack([np.outer(alike, share) / share.sum() for share in apart])

    lower, upper = differential.reach_of_amplification(shapes)

    assert lower == math.inf
    assert upper == differential.find_limits(shapes.sum(axis=-2) - 0.5)[1]


def test_the_number_of_all_records_is_counted_and_their_weight_is_not() -> None:
    codes, outcomes = np.arange(100) % 2, np.arange(100) // 2 % 2
    plain, weighed = (
        LabelledCells.from_records(SEXES, codes, actual=outcomes, predicted=outcomes, correct=np.ones(100, np.int64), weights=weights)
        for weights in (None, np.where(np.arange(100) < 50, 1.0, 3.0))
    )

    count = value(measure_labelled(plain, metrics=["record_count"]), "record_count", "overall")
    weight = value(measure_labelled(weighed, metrics=["record_count"]), "record_count", "overall")

    assert (count.lower, count.upper, count.method) == (100, 100, "counted")
    assert weight.value == 200
    assert weight.lower is not None
    assert weight.upper is not None
    # The weight of another 100 such records has the standard deviation 10.
    assert weight.upper - 200 == pytest.approx(1.96 * 10, rel=0.2)
    assert 200 - weight.lower == pytest.approx(1.96 * 10, rel=0.2)


def test_strata_that_lack_an_outcome_are_cautioned_where_they_hold_more_than_a_tenth_of_the_records(snapshot: SnapshotAssertion) -> None:
    codes, outcomes = np.arange(400) % 2, np.arange(400) // 2 % 2
    strata = np.where(np.arange(400) < 100, outcomes, 2)
    table = GroupCounts.from_records(SEXES, codes, outcome=outcomes, strata=(("refused", "accepted", "both"), strata))

    details = found(measure_as_logged(table), "conditional_demographic_disparity_in_predicted_labels", "pooled").details

    assert says(text := str(details.caution), "25")
    assert text == snapshot


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("metric", "scope", "rates"),
    [
        # (base rate, TPR, FPR) of each group; the truth of each follows from them.
        ("equalized_odds_difference", "pooled", ((0.4, 0.7, 0.2), (0.5, 0.8, 0.3))),
        ("average_abs_odds_difference", "pooled", ((0.4, 0.75, 0.15), (0.4, 0.75, 0.35))),
        ("between_all_groups_generalized_entropy_index", "attribute", ((0.4, 0.7, 0.2), (0.5, 0.8, 0.3), (0.6, 0.8, 0.2), (0.4, 0.9, 0.4))),
        ("differential_fairness_bias_amplification", "attribute", ((0.4, 0.75, 0.15), (0.4, 0.75, 0.35))),
    ],
)
def test_figures_that_chance_makes_too_large_are_held_as_often_as_promised(
    metric: str, scope: str, rates: tuple[tuple[float, float, float], ...]
) -> None:
    """600 windows of 1,000 records; the draws' own quantiles held these in 85 to 92 of 100."""
    base, true, false = np.array(rates).T
    chances = np.stack([np.stack([(1 - base) * (1 - false), (1 - base) * false], 1), np.stack([base * (1 - true), base * true], 1)], 1)
    chances /= len(rates)
    truth = value(measured(np.round(chances * 1e12).astype(np.int64), metric, draws=1), metric, scope).value
    random = np.random.default_rng(4)
    windows = random.multinomial(1_000, chances.ravel(), size=600).reshape(600, *chances.shape)

    numbers = [found(measured(window, metric), metric, scope).number for window in windows]

    held = [reaches(number, truth) for number in numbers]
    assert 0.935 <= np.mean(held) <= 0.985
