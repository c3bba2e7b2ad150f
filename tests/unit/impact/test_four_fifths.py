"""The four-fifths rule: tests and odds ratios next to scipy's, and shortfalls by brute force."""

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, chi2_contingency, fisher_exact
from scipy.stats.contingency import odds_ratio as sample_odds_ratio
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportions_ztest

from app.domain.monitor import Comparison
from app.statistics.selections.category_people import Category, CategoryTable
from app.statistics.selections.four_fifths import Flag, build_impact_row, compare_impact, compute_odds_ratio, is_exact


def table(*counts: tuple[str, int, int]) -> CategoryTable:
    return CategoryTable(Comparison(("sex",)), tuple(Category((name,), people, selected) for name, people, selected in counts), 0)


def pair(people: int, selected: int, others: int, others_selected: int) -> tuple[Category, Category]:
    return Category(("f",), people, selected), Category(("m",), others, others_selected)


def row(people: int, selected: int, others: int, others_selected: int) -> dict[str, Any]:
    return build_impact_row(*pair(people, selected, others, others_selected))


@pytest.mark.nightly
def test_figures_of_a_thousand_random_tables_are_those_of_scipy_and_statsmodels() -> None:
    rng = np.random.default_rng(7)
    for _ in range(1_000):
        people, others = (int(size) for size in rng.integers(1, rng.choice([5, 60, 3_000]), 2))
        selected, others_selected = int(rng.integers(0, people + 1)), int(rng.integers(0, others + 1))
        compared = pair(people, selected, others, others_selected)
        one = build_impact_row(*compared)
        cells = [[selected, people - selected], [others_selected, others - others_selected]]

        assert one["fisher_p"] == pytest.approx(min(1.0, float(fisher_exact(cells).pvalue)), rel=1e-9)
        if 0 < selected + others_selected < people + others:
            chi2 = chi2_contingency(cells, correction=False).statistic
            assert one["z"] is not None
            assert one["z"] ** 2 == pytest.approx(chi2, rel=1e-9, abs=1e-12)
            oracle = proportions_ztest([selected, others_selected], [people, others])
            assert one["z"] == pytest.approx(oracle[0], rel=1e-9, abs=1e-12)
            if not is_exact(*compared):
                assert one["p_value"] == pytest.approx(oracle[1], rel=1e-9, abs=1e-12)
        else:
            assert one["z"] is None
        assert (one["impact_ratio"] is None) == (one["impact_ratio_reason"] is not None)
        assert (one["z"] is None) == (one["z_reason"] is not None)
        odds = compute_odds_ratio(*compared)
        if all(count for pair in cells for count in pair):
            oracle = sample_odds_ratio(cells, kind="sample")
            low, high = oracle.confidence_interval(0.95)
            assert (odds.value, odds.lower, odds.upper) == pytest.approx((oracle.statistic, low, high), rel=1e-9)
            assert odds.reason is None
        else:
            assert odds.lower is None
            assert odds.upper is None
            assert odds.reason is not None


def test_the_shortfall_is_the_smallest_number_of_selections_that_reaches_four_fifths() -> None:
    rng = np.random.default_rng(8)
    for _ in range(500):
        people, others = (int(size) for size in rng.integers(1, 60, 2))
        selected, others_selected = int(rng.integers(0, people + 1)), int(rng.integers(0, others + 1))
        target = Fraction(4, 5) * Fraction(others_selected, others)
        found = next(further for further in range(people - selected + 1) if Fraction(selected + further, people) >= target)
        assert row(people, selected, others, others_selected)["shortfall_to_four_fifths"] == found


def test_a_ratio_of_exactly_four_fifths_has_no_flag() -> None:
    assert row(100, 40, 100, 50)["flags"] == []
    assert row(100, 39, 100, 50)["flags"] == [Flag.BELOW_FOUR_FIFTHS, Flag.FLIPS_WITH_TWO]
    assert row(100, 37, 100, 50)["flags"] == [Flag.BELOW_FOUR_FIFTHS]
    (lower, _) = compare_impact(table(("women", 1000, 370), ("men", 1000, 500)))
    assert lower["flags"] == [Flag.BELOW_FOUR_FIFTHS, Flag.SIGNIFICANT]
    assert lower["corrected_p"] == lower["p_value"]


def test_few_people_are_judged_by_the_exact_test() -> None:
    few, many = row(12, 2, 15, 9), row(200, 40, 300, 180)
    assert is_exact(*pair(12, 2, 15, 9))
    assert few["p_value"] == few["fisher_p"]
    assert not is_exact(*pair(200, 40, 300, 180))
    assert many["z"] is not None
    assert many["p_value"] == math.erfc(abs(many["z"]) / math.sqrt(2))


def test_categories_are_compared_with_the_highest_rate_of_those_that_are_not_small() -> None:
    rows = list(compare_impact(table(("few", 1, 1), ("men", 300, 150), ("women", 200, 80))))

    assert [one["impact_ratio"] for one in rows] == [2.0, None, 0.8]
    assert Flag.TOO_FEW in rows[0]["flags"]


@pytest.mark.parametrize("many", [3, 5, 10])
def test_corrected_p_values_are_those_of_statsmodels(many: int) -> None:
    selected = np.random.default_rng(many).binomial(160, 0.3, many).tolist()
    categories = [(f"c{place}", 160, count) for place, count in enumerate([*selected, 160 * 9 // 20])]
    raw = [proportions_ztest([one[2], other[2]], [160, 160])[1] for one, other in combinations(categories, 2)]
    holm = multipletests(raw, method="holm")[1]
    pairs = dict(zip(combinations([category[0] for category in categories], 2), holm, strict=True))
    *rows, best = compare_impact(table(*categories))

    assert best["corrected_p"] is None
    assert [one["corrected_p"] for one in rows] == pytest.approx([pairs[one["category"], best["category"]] for one in rows])


def test_a_small_category_is_corrected_for_all_pairs() -> None:
    few, men, women = compare_impact(table(("few", 9, 0), ("men", 600, 300), ("women", 400, 240)))

    assert few["corrected_p"] == min(1.0, 3 * float(few["p_value"] or 0))
    assert men["corrected_p"] == men["p_value"]
    assert women["corrected_p"] is None


@pytest.mark.thorough
@pytest.mark.parametrize("many", [2, 5, 10])
def test_somebody_of_equal_categories_is_seldom_significant(many: int) -> None:
    """Raw in 5, 29 and 63 of 100 reports."""
    reports, rng = 300, np.random.default_rng(27)
    drawn = rng.binomial(200, 0.3, (reports, many)).tolist()
    found = sum(
        any(Flag.SIGNIFICANT in one["flags"] for one in compare_impact(table(*((str(no), 200, count) for no, count in enumerate(counts)))))
        for counts in drawn
    )

    assert 0 < found <= binom.ppf(0.999, reports, 0.05)
