"""Gaps in scores next to scipy's and statsmodels' figures, and on a simulated world."""

import math

import numpy as np
import pytest
from scipy.stats import ttest_ind
from scipy.stats.contingency import relative_risk
from statsmodels.regression.linear_model import OLS

from app.statistics.selections.lending_sheet import (
    NO_COMMON_CONTROLS,
    NO_SPREAD,
    compute_quantile_ratios,
    measure_residual_gap,
    measure_score_gap,
)


@pytest.mark.nightly
def test_standardised_differences_are_those_of_the_t_test() -> None:
    rng = np.random.default_rng(1)
    for _ in range(1_000):
        women, men = rng.normal(0, 2, int(rng.integers(2, 50))), rng.normal(0.4, 1, int(rng.integers(2, 50)))
        everybody = np.concatenate([women, men, rng.normal(5, 1, 7)])
        found = measure_score_gap(women, men, everybody, name="women", reference_name="men")
        t = ttest_ind(women, men).statistic
        assert found.smd_within == pytest.approx(t * math.sqrt(1 / women.size + 1 / men.size), rel=1e-9, abs=1e-12)
        assert found.smd == pytest.approx((women.mean() - men.mean()) / np.std(everybody), rel=1e-9, abs=1e-12)


def test_gaps_that_are_not_there_have_a_reason() -> None:
    one, equal = np.array([1.0]), np.array([0.1, 0.1, 0.1])
    assert "women" in str(measure_score_gap(one, equal, equal, name="women", reference_name="men").reason)
    assert measure_score_gap(equal, equal, equal, name="women", reference_name="men").reason == NO_SPREAD
    apart = measure_residual_gap(np.array([True, True, False]), np.array([1.0, 2.0, 3.0]), np.array([0, 0, 1]), 1.0)
    assert (apart.smd, apart.reason) == (None, NO_COMMON_CONTROLS)


@pytest.mark.nightly
def test_the_residual_gap_is_the_coefficient_of_a_least_squares_fit() -> None:
    rng = np.random.default_rng(2)
    for _ in range(1_000):
        strata = rng.integers(0, 4, 60)
        is_woman = rng.random(60) < 0.2 + 0.15 * strata
        scores = rng.normal(strata - 0.5 * is_woman, 1)
        if not is_woman.any() or is_woman.all():
            continue
        terms = np.column_stack([is_woman, *(strata == value for value in np.unique(strata))]).astype(float)
        fit = OLS(scores, terms).fit()
        deviation = scores.std(ddof=1)
        low, high = fit.conf_int()[0]
        t_to_normal = 1.959963984540054 * fit.bse[0]
        found = measure_residual_gap(is_woman, scores, strata, deviation)
        assert found.smd == pytest.approx(fit.params[0] / deviation, rel=1e-9, abs=1e-12)
        assert found.lower == pytest.approx((fit.params[0] - t_to_normal) / deviation, rel=1e-9, abs=1e-12)
        assert low < (found.lower or 0) * deviation < (found.upper or 0) * deviation < high


def test_a_gap_that_the_controls_explain_leaves_none() -> None:
    """Scores depend on income alone, of which women have less: there is a gap, and none given income."""
    rng = np.random.default_rng(3)
    inside = 0
    for _ in range(200):
        is_woman = rng.random(400) < 0.5
        income = rng.integers(0, 3, 400) + (1 - is_woman)
        scores = rng.normal(income, 1)
        assert scores[is_woman].mean() < scores[~is_woman].mean()
        found = measure_residual_gap(is_woman, scores, income, float(scores.std(ddof=1)))
        inside += (found.lower or 0) <= 0 <= (found.upper or 0)
    assert 180 <= inside <= 198


@pytest.mark.thorough
def test_a_thousand_tables_have_the_ratios_by_quantile_of_a_count_and_of_scipy() -> None:
    """Scores have many ties, and cuts above which nobody of the reference is."""
    rng = np.random.default_rng(5)
    without = 0
    for _ in range(1_000):
        spread = int(rng.choice([2, 9, 1_000]))
        women, men, others = (rng.integers(0, spread, int(size)) / spread for size in rng.integers(1, 60, 3))
        everybody = np.sort(np.concatenate([women, men, others]))
        for found in compute_quantile_ratios(women, men, everybody):
            cut = everybody[math.ceil(round(found.quantile * everybody.size, 9)) - 1]
            above, men_above = int((women > cut).sum()), int((men > cut).sum())
            assert (found.cut, found.rate, found.reference_rate) == (cut, above / women.size, men_above / men.size)
            if men_above:
                oracle = relative_risk(above, women.size, men_above, men.size).relative_risk
                assert found.ratio == pytest.approx(oracle, rel=1e-9)
            else:
                without += 1
                assert (found.ratio, found.lower, found.upper) == (None, None, None)
                assert found.reason
    assert without > 100


def test_ratios_by_quantile_are_computed_by_hand() -> None:
    women, men = np.array([1.0, 2.0, 3.0, 4.0]), np.array([3.0, 4.0, 5.0, 6.0])
    # Half of everybody, 1 2 3 3 of 1 2 3 3 4 4 5 6, does not exceed 3: one of four women is above it, and three of four men. Four fifths
    # of everybody are 6.4 people, so the seventh has the cut, 5: no woman is above it, and one man.
    half, top = compute_quantile_ratios(women, men, np.concatenate([women, men]), (0.5, 0.8))
    assert (half.cut, half.rate, half.reference_rate, half.ratio) == pytest.approx((3, 0.25, 0.75, 1 / 3))
    assert top.cut == 5
    assert (top.rate, top.reference_rate, top.ratio) == (0, 0.25, 0)
    (nobody,) = compute_quantile_ratios(men, women, np.concatenate([women, men]), (0.8,))
    assert nobody.ratio is None


def test_intervals_of_gaps_and_of_ratios_by_quantile_hold_the_truth() -> None:
    """Women's scores lie half a standard deviation of the men's below theirs; both are normal."""
    rng = np.random.default_rng(4)
    everybody = np.concatenate([rng.normal(-0.5, 1, 500_000), rng.normal(0, 1, 500_000)])
    truth = -0.5 / everybody.std()
    cut = float(np.quantile(everybody, 0.5))
    ratio = float((everybody[:500_000] > cut).mean() / (everybody[500_000:] > cut).mean())
    gaps = ratios = 0
    for _ in range(400):
        women, men = rng.normal(-0.5, 1, 150), rng.normal(0, 1, 150)
        both = np.concatenate([women, men])
        gap = measure_score_gap(women, men, both, name="women", reference_name="men")
        (half,) = compute_quantile_ratios(women, men, both, (0.5,))
        gaps += (gap.lower or 0) <= truth <= (gap.upper or -9)
        ratios += (half.lower or 0) <= ratio <= (half.upper or 0)
    assert 366 <= gaps <= 394
    # The cut is the median of both, which leaves the ratio less room than rates that vary by themselves.
    assert ratios >= 370
