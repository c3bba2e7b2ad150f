"""Probabilistic categories: known categories as a special case, by hand, and intervals on simulated worlds."""

import math

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from app.domain.comparisons import Comparison
from app.impact.categories import Category, CategoryTable
from app.impact.four_fifths import compare_categories
from app.impact.weighted import WeightedPeople, weigh_categories
from tests.builders.page_words import says


def people(weights: list[list[float]], selected: list[bool], records: list[int] | None = None) -> WeightedPeople:
    table = np.array(weights, dtype=float).T
    counted = np.array([1] * len(selected) if records is None else records)
    return WeightedPeople(("a", "b"), table, counted, np.array(selected))


def test_weights_of_0_and_1_give_the_figures_of_known_categories() -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        is_a, selected = rng.random(400) < 0.4, rng.random(400) < 0.5
        found = weigh_categories("race", people([[float(one), float(not one)] for one in is_a], selected.tolist()))
        counts = [Category((name,), int(of.sum()), int((of & selected).sum())) for name, of in (("a", is_a), ("b", ~is_a))]
        expected = compare_categories(CategoryTable(Comparison(("race",)), tuple(counts), 0))
        assert expected.compared_with is not None
        assert found.compared_with == expected.compared_with.label
        for row, other in zip(found.rows, expected.rows, strict=True):
            assert (row.people, row.selected, row.effective_n) == pytest.approx(
                (other.category.applicants, other.category.selected, row.people)
            )
            if other.interval is not None:
                ends = (other.ratio, other.interval.lower, other.interval.upper)
                assert (row.impact_ratio, row.impact_ratio_low, row.impact_ratio_high) == pytest.approx(ends, rel=1e-9)


def test_a_table_by_hand() -> None:
    # a: 0.75 + 0.5 + 0.25 = 1.5 people, of whom 0.75 + 0.25 selected; b: 0.25 + 0.5 + 0.5 = 1.25, of whom 0.25 + 0.5. 0.25 is of neither.
    # The fourth person has no weights, and two who are alike count as one entry.
    found = weigh_categories(
        "race", people([[0.75, 0.25], [0.5, 0.5], [0.25, 0.5], [math.nan, 0.5]], [True, False, True, True], [1, 1, 1, 2])
    )
    a, b = found.rows
    assert (a.people, a.selected, a.rate) == pytest.approx((1.5, 1.0, 2 / 3))
    assert (b.people, b.selected, b.rate) == pytest.approx((1.25, 0.75, 0.6))
    assert a.effective_n == pytest.approx(1.5**2 / (0.75**2 + 0.5**2 + 0.25**2))
    assert found.compared_with == "a"
    assert b.impact_ratio == pytest.approx(0.9)
    assert found.unknown == pytest.approx(2.25)


def test_weights_that_are_no_probabilities_are_refused() -> None:
    for weights in ([0.7, 0.5], [-0.1, 0.5], [1.1, 0]):
        with pytest.raises(ValueError, match="between 0 and 1"):
            weigh_categories("race", people([weights], [True]))


def test_ratios_that_do_not_exist_have_a_reason(snapshot: SnapshotAssertion) -> None:
    nobody = weigh_categories("race", people([[0.5, 0.5]] * 4, [False] * 4))
    texts = {row.reason for row in nobody.rows}
    assert says(min(texts), "2")
    assert texts == snapshot
    absent = weigh_categories("race", people([[1.0, 0.0]] * 4, [True] * 4))
    assert (absent.rows[1].rate, absent.rows[1].reason) == (None, "nobody has a probability of being b")


def test_intervals_of_a_ratio_cover_it_where_people_count_in_both_categories() -> None:
    """The outcome depends on the name and place that the weights are of, not on the category among like people: there is no bias."""
    rng = np.random.default_rng(2)
    inside = 0
    # Selected with chance 0.3 + 0.4 w: the rate of a is E[w(0.3 + 0.4w)] / E[w] = 0.3 + 0.4 * 2/3, that of b 0.3 + 0.4 * 1/3.
    truth = (0.3 + 0.4 / 3) / (0.3 + 0.8 / 3)
    for _ in range(400):
        weight = rng.random(500)
        selected = rng.random(500) < 0.3 + 0.4 * weight
        found = weigh_categories("race", WeightedPeople(("a", "b"), np.array([weight, 1 - weight]), np.ones(500, dtype=np.int64), selected))
        row = found.rows[1]
        inside += (row.impact_ratio_low or 0) <= truth <= (row.impact_ratio_high or 0)
    assert 366 <= inside <= 394


def test_a_world_whose_outcome_depends_on_the_category_itself_shows_the_bias_of_the_caution() -> None:
    rng = np.random.default_rng(3)
    weight = rng.random(200_000)
    is_a = rng.random(200_000) < weight
    selected = rng.random(200_000) < np.where(is_a, 0.6, 0.3)
    found = weigh_categories("race", WeightedPeople(("a", "b"), np.array([weight, 1 - weight]), np.ones(200_000, dtype=np.int64), selected))
    # The truth is 0.5; the weighted ratio is nearer to 1.
    assert (found.rows[1].impact_ratio or 0) > 0.75
