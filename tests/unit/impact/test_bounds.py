"""Bounds from probabilities: by hand, in worlds whose truth lies on them, and what is refused."""

import math

import numpy as np
import pytest

from app.base.errors import InvalidInput
from app.statistics.selections.category_people import CategoryMapping
from app.statistics.selections.lending_sheet import bound_categories

PAIR = CategoryMapping(attribute="race", weights={"p_a": "a", "p_b": "b"}, reference="b")


def bound(
    weights: list[list[float]], selected: list[bool], records: list[int], mapping: CategoryMapping = PAIR
) -> dict[str, dict[str, object]]:
    table = bound_categories(mapping, np.array(weights, dtype=float).T, np.array(records), np.array(selected))
    return {row["category"]: row for row in table["rows"]}


def test_two_cells_by_hand() -> None:
    # 100 people with 0.2, 60 of them selected; 100 with 0.8, 30 of them selected.
    rows = bound([[0.2, 0.8], [0.2, 0.8], [0.8, 0.2], [0.8, 0.2]], [True, False, True, False], [60, 40, 30, 70])

    # At most 20 and 30 of the 100 of a, at least 0 and 10; of b at most 60 and 20, at least 40 and 0.
    assert (rows["a"]["rate_low"], rows["a"]["rate_high"]) == pytest.approx((0.1, 0.5))
    assert (rows["b"]["rate_low"], rows["b"]["rate_high"]) == pytest.approx((0.4, 0.8))
    assert (rows["a"]["ratio_low"], rows["a"]["ratio_high"]) == pytest.approx((0.1 / 0.8, 0.5 / 0.4))
    assert rows["b"]["ratio_low"] is None


def test_the_ends_are_reached_by_assigning_people_and_nothing_lies_beyond() -> None:
    rng = np.random.default_rng(5)
    for _ in range(50):
        size, chosen = rng.integers(30, 60, 3), rng.random(3)
        selected = np.floor(size * chosen).astype(int)
        members = np.floor(size * np.array([0.1, 0.5, 0.9])).astype(int)
        share = members / size
        weights = [[p, 1 - p] for p in np.repeat(share, 2)]
        counts = np.column_stack([selected, size - selected]).ravel().tolist()
        row = bound(weights, [True, False] * 3, counts)["a"]
        ratios = []
        for take in range(200):
            low, high = np.maximum(0, selected + members - size), np.minimum(selected, members)
            of_a = low if take == 0 else high if take == 1 else rng.integers(low, high + 1)
            rate, other = of_a.sum() / members.sum(), (selected - of_a).sum() / (size - members).sum()
            ratios.append(rate / other if other else math.inf)
        assert row["ratio_low"] == pytest.approx(min(ratios))
        assert (math.inf if row["ratio_high"] is None else row["ratio_high"]) == pytest.approx(max(ratios))


def test_people_with_probabilities_of_their_own_share_cells_of_30_records() -> None:
    # A cell for each person would shrink the bounds to the weighted rate.
    rng = np.random.default_rng(6)
    weight, selected = rng.random(60), rng.random(60) < 0.5
    rows = bound([[p, 1 - p] for p in weight], selected.tolist(), [1] * 60)

    assert rows["a"]["rate_low"] < 0.3
    assert rows["a"]["rate_high"] > 0.7


def test_the_truth_is_within_where_the_outcome_goes_with_the_category() -> None:
    rng = np.random.default_rng(3)
    weight = rng.random(50_000)
    is_a = rng.random(50_000) < weight
    selected = rng.random(50_000) < np.where(is_a, 0.3, 0.6)
    row = bound([[p, 1 - p] for p in weight], selected.tolist(), [1] * 50_000)["a"]

    # The ratio of the weighted rates would be 0.73.
    assert row["ratio_low"] < 0.5 < row["ratio_high"]


def test_the_limits_miss_an_end_that_is_the_truth_in_few_of_the_windows() -> None:
    """Each side in 0.5 to 5 % by the rule, and a hair more by the noise of 600 windows."""
    rng = np.random.default_rng(7)
    missed_low = missed_high = 0
    shares, rates = np.array([0.1, 0.5, 0.9]), np.array([0.6, 0.5, 0.3])
    size = np.array([100, 100, 100])
    of_a, of_b = size * shares, size * (1 - shares)
    low = np.maximum(0, rates + shares - 1) @ size / of_a.sum() / (np.minimum(rates, 1 - shares) @ size / of_b.sum())
    high = np.minimum(rates, shares) @ size / of_a.sum() / (np.maximum(0, rates - shares) @ size / of_b.sum())
    for _ in range(600):
        selected = rng.binomial(size, rates)
        counts = np.column_stack([selected, size - selected]).ravel().tolist()
        row = bound([[p, 1 - p] for p in np.repeat(shares, 2)], [True, False] * 3, counts)["a"]
        missed_low += row["ratio_low_with_noise"] > low
        missed_high += row["ratio_high_with_noise"] is not None and row["ratio_high_with_noise"] < high
    assert missed_low <= 0.06 * 600
    assert missed_high <= 0.06 * 600


def test_more_categories_and_people_of_none_of_them_have_ratios_to_the_reference() -> None:
    three = CategoryMapping(attribute="race", weights={"p_a": "a", "p_b": "b", "p_c": "c"}, reference="c")
    rows = bound([[0.5, 0.2, 0.2], [0.1, 0.1, 0.8]], [True, False], [50, 50], three)

    assert rows["a"]["people"] == pytest.approx(30)
    assert (rows["a"]["rate_low"], rows["a"]["rate_high"]) == pytest.approx((25 / 30, 25 / 30))
    assert (rows["b"]["ratio_low"], rows["b"]["ratio_high"]) == pytest.approx((10 / 15 / (10 / 50), 10 / 15 / (10 / 50)))


def test_without_a_reference_there_are_ranges_of_rates_alone() -> None:
    alone = CategoryMapping(attribute="race", weights={"p_a": "a"})
    row = bound([[0.2], [0.2]], [True, False], [60, 40], alone)["a"]

    assert (row["rate_low"], row["rate_high"]) == pytest.approx((0, 1))
    assert {row[name] for name in ("ratio_low", "ratio_high", "ratio_low_with_noise", "ratio_high_with_noise")} == {None}


def test_people_without_a_probability_are_unknown() -> None:
    table = bound_categories(PAIR, np.array([[0.5, math.nan], [0.5, 0.5]]), np.array([10, 3]), np.array([True, True]))
    assert table["unknown"] == 3
    assert table["rows"][0]["people"] == pytest.approx(5)


def test_a_lower_end_of_zero_has_no_ratio_above_it() -> None:
    row = bound([[0.5, 0.5], [0.5, 0.5]], [True, False], [30, 70])["a"]
    assert (row["ratio_low"], row["ratio_high"], row["ratio_low_with_noise"], row["ratio_high_with_noise"]) == (0, None, 0, None)


@pytest.mark.parametrize(
    ("weights", "reason"),
    [([0, 0.5], "nobody has a probability of being in this category"), ([0.5, 0], "nobody has a probability of being in the reference")],
)
def test_a_category_that_nobody_can_be_in_has_a_reason(weights: list[float], reason: str) -> None:
    assert bound([weights], [True], [10])["a"]["reason"] == reason


def test_a_reference_of_which_nobody_was_selected_has_a_reason() -> None:
    assert bound([[0.5, 0.5]], [False], [10])["a"]["reason"] == "nobody of the reference can have been selected"


@pytest.mark.parametrize("weights", [[0.7, 0.5], [-0.1, 0.5], [1.1, 0]])
def test_weights_that_are_no_probabilities_are_refused(weights: list[float]) -> None:
    with pytest.raises(InvalidInput, match="between 0 and 1"):
        bound([weights], [True], [1])


def test_a_guess_that_was_made_certain_is_refused() -> None:
    with pytest.raises(InvalidInput, match="p_a has no value between 0 and 1"):
        bound([[1, 0], [0, 1]], [True, False], [50, 50])
