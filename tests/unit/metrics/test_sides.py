"""Who is at a disadvantage, and what lies on a side that no limit watches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.statistics.catalogue import CATALOGUE
from app.statistics.intervals.verdicts import Limits, Value, Verdict, judge_number
from app.statistics.measures.worst_group import (
    Disadvantaged,
    add_mirror_limits,
    find_disadvantaged,
    invert_ratio,
    measure_distance,
    mirror_limits,
    rank_value,
)


@pytest.mark.parametrize(
    ("metric", "limits", "mirror"),
    [
        ("disparate_impact", (0.8, None), (None, 1.25)),
        ("disparate_impact", (None, 1.25), (0.8, None)),
        ("disparate_impact", (0.8, 1.25), (None, None)),
        ("disparate_impact", (0.8, 1.1), (None, None)),
        ("disparate_impact", (None, None), (None, None)),
        ("disparate_impact", (1.2, None), (None, None)),
        ("disparate_impact", (0.0, None), (None, None)),
        ("statistical_parity_difference", (-0.1, None), (None, 0.1)),
        ("accuracy_difference", (None, 0.05), (-0.05, None)),
        ("calibration_gap", (None, 0.1), (-0.1, None)),
        ("counterfactual_flip_test", (None, 0.1), (-0.1, None)),
        ("equalized_odds_ratio", (0.8, None), (None, None)),
        ("average_abs_odds_difference", (None, 0.1), (None, None)),
        ("total_variation_distance", (None, 0.1), (None, None)),
        ("flip_rate", (None, 0.05), (None, None)),
        ("accuracy", (0.7, None), (None, None)),
        ("differential_fairness_bias_amplification", (None, 0.1), (None, None)),
    ],
)
def test_a_lone_limit_has_a_mirror_image_where_the_figure_has_two_sides(metric: str, limits: Limits, mirror: Limits) -> None:
    assert mirror_limits(CATALOGUE[metric], limits) == mirror


@pytest.mark.parametrize(
    ("metric", "value", "limits", "expected"),
    [
        ("disparate_impact", 0.6, (0.8, 1.25), Disadvantaged.MONITORED),
        ("disparate_impact", 1.71, (0.8, 1.25), Disadvantaged.REFERENCE),
        ("disparate_impact", 1.71, (0.8, None), Disadvantaged.REFERENCE),
        ("disparate_impact", 1.25, (0.8, None), Disadvantaged.NOBODY),
        ("disparate_impact", 0.56 / 0.7, (0.8, None), Disadvantaged.NOBODY),
        ("statistical_parity_difference", 0.2, (-0.1, None), Disadvantaged.REFERENCE),
        ("difference_in_positive_proportions_in_predicted_labels", 0.2, (-0.1, 0.1), Disadvantaged.MONITORED),
        ("true_positive_rate_ratio", 1.5, (0.8, 1.25), Disadvantaged.REFERENCE),
        ("recall_difference", 0.2, (-0.1, 0.1), Disadvantaged.MONITORED),
        ("false_negative_rate_ratio", 1.5, (0.8, 1.25), Disadvantaged.MONITORED),
        ("false_positive_rate_ratio", 1.5, (0.8, 1.25), Disadvantaged.REFERENCE),
        ("specificity_difference", 0.2, (-0.1, 0.1), Disadvantaged.MONITORED),
        ("average_odds_difference", -0.2, (-0.1, 0.1), Disadvantaged.MONITORED),
        ("accuracy_difference", 0.3, (-0.1, 0.1), None),
        ("error_rate_ratio", 3.0, (0.8, 1.25), None),
        ("kolmogorov_smirnov", 0.3, (None, 0.1), None),
        ("generalized_entropy_index", 0.3, (None, 0.1), None),
    ],
)
def test_who_is_at_a_disadvantage_follows_from_who_is_favoured_less(
    metric: str, value: float, limits: Limits, expected: Disadvantaged | None
) -> None:
    assert find_disadvantaged(CATALOGUE[metric], value, limits, Verdict.UNFAIR) is expected


@pytest.mark.parametrize("given_verdict", [None, Verdict.INSUFFICIENT_DATA, Verdict.NOT_COMPUTABLE])
def test_nobody_is_said_to_be_at_a_disadvantage_where_nothing_is_judged(given_verdict: Verdict | None) -> None:
    assert find_disadvantaged(CATALOGUE["disparate_impact"], 0.1, (0.8, 1.25), given_verdict) is None
    assert find_disadvantaged(CATALOGUE["disparate_impact"], None, (0.8, 1.25), Verdict.UNFAIR) is None


@given(st.floats(0.01, 100), st.floats(0.1, 1.0))
def test_a_ratio_and_its_turned_round_one_accuse_opposite_sides_under_one_limit(value: float, limit: float) -> None:
    row, other = (
        CATALOGUE["disparate_impact"],
        {Disadvantaged.MONITORED: Disadvantaged.REFERENCE, Disadvantaged.NOBODY: Disadvantaged.NOBODY},
    )
    one, back = (find_disadvantaged(row, each, (limit, None), Verdict.FAIR) for each in (value, 1 / value))

    assert one is not None
    assert back is not None
    assert other.get(one, Disadvantaged.MONITORED) is back


@pytest.mark.parametrize(
    ("value", "limits", "expected"),
    [
        (1.5, (0.8, None), Verdict.UNWATCHED),
        (1.26, (0.8, None), Verdict.UNWATCHED),
        (1.25, (0.8, None), Verdict.FAIR),
        (0.5, (None, 1.25), Verdict.UNWATCHED),
        (1.5, (0.8, 2.0), Verdict.FAIR),
        (0.5, (0.8, None), Verdict.UNFAIR),
    ],
)
def test_what_is_beyond_the_mirror_image_of_a_lone_limit_is_unwatched_and_never_fair(
    value: float, limits: Limits, expected: Verdict
) -> None:
    number = Value(value, value, value, "by hand", 1000)
    mirror = mirror_limits(CATALOGUE["disparate_impact"], limits)

    assert judge_number(number, lower_limit=limits[0], upper_limit=limits[1], smallest_group=500, mirror=mirror) == expected


def test_a_ratio_turned_round_has_its_interval_turned_round() -> None:
    assert invert_ratio(2.0, 1.6, 2.5) is not None
    found = invert_ratio(2.0, 1.6, None)
    assert found is not None
    assert (found.value, found.lower, found.upper) == (0.5, 0.0, 0.625)
    open_above = invert_ratio(2.0, 0.0, 4.0)
    assert open_above is not None
    assert (open_above.lower, open_above.upper) == (0.25, None)
    assert invert_ratio(0.0, 0.0, 0.1) is None


def test_what_is_beyond_a_limit_that_is_set_comes_before_what_is_beyond_a_mirror_image() -> None:
    row = CATALOGUE["disparate_impact"]

    ordered = sorted([1.1, 1.9, 0.75, 0.85], key=lambda value: rank_value(value, row, (0.8, None)))
    assert ordered == [0.75, 1.9, 0.85, 1.1]
    assert add_mirror_limits(row, (0.8, None)) == (0.8, 1.25)
    assert measure_distance(0.0, row, (0.8, 1.25)) == float("inf")
    assert measure_distance(4.0, row, (None, None)) == measure_distance(0.25, row, (None, None))
