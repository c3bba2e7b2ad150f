"""Figures given controls next to statsmodels', on a classic table and on random ones with empty cells."""

import math
import warnings

import numpy as np
import pytest
from statsmodels.discrete.discrete_model import BinaryResultsWrapper, Logit
from statsmodels.stats.contingency_tables import StratifiedTable, Table2x2
from statsmodels.tools.sm_exceptions import PerfectSeparationError

from app.statistics.selections.category_people import Category
from app.statistics.selections.controls_sheet import (
    NO_STRATUM,
    ONE_STRATUM,
    adjust_odds,
    find_informative,
    stratify_odds,
)
from app.statistics.selections.four_fifths import compute_odds_ratio

WOMEN, MEN = Category(("women",), 1, 1), Category(("men",), 1, 1)

BERKELEY = np.array(
    [
        (512, 313, 89, 19),
        (353, 207, 17, 8),
        (120, 205, 202, 391),
        (138, 279, 131, 244),
        (53, 138, 94, 299),
        (22, 351, 24, 317),
    ]
)
"""Admissions to Berkeley in 1973, as R's UCBAdmissions has them."""


def test_berkeley_has_the_figures_that_r_gives() -> None:
    found = stratify_odds(MEN, WOMEN, BERKELEY)

    # mantelhaen.test(UCBAdmissions) of R.
    assert (found.value, found.lower, found.upper) == pytest.approx((0.9046968, 0.7719074, 1.0603298), abs=5e-8)
    assert found.strata == 6
    assert found.homogeneity.degrees == 5
    assert found.homogeneity.p_value is not None
    assert found.homogeneity.p_value < 0.01


TOWNS_AND_JOBS = np.array([(town, job) for town in range(3) for job in range(2)])


def tables_of(strata: np.ndarray) -> list[np.ndarray]:
    """Those with both categories and both outcomes."""
    return [table for table in strata.reshape(-1, 2, 2) if all(table.sum(axis=0)) and all(table.sum(axis=1))]


@pytest.mark.nightly
def test_a_thousand_random_stratified_tables_have_the_figures_of_statsmodels() -> None:
    rng = np.random.default_rng(20)
    finite = 0
    for _ in range(1_000):
        high = int(rng.choice([3, 20, 500]))
        strata = np.array([rng.integers(0, high, 4) for _ in range(int(rng.integers(1, 7)))])
        found, tables = stratify_odds(WOMEN, MEN, strata), tables_of(strata)
        people = sum(int(table.sum()) for table in tables)
        assert found.left_out + people == strata.sum()
        if not tables:
            assert found.reason == found.cmh.reason == found.homogeneity.reason == NO_STRATUM
            continue
        oracle = StratifiedTable(tables)
        above = sum(table[0, 0] * table[1, 1] for table in tables)
        below = sum(table[0, 1] * table[1, 0] for table in tables)
        assert found.cmh.statistic == pytest.approx(oracle.test_null_odds().statistic, rel=1e-9, abs=1e-12)
        assert found.cmh.p_value == pytest.approx(oracle.test_null_odds().pvalue, rel=1e-9, abs=1e-12)
        if not below or not above:
            assert found.lower is None
            assert found.upper is None
            assert found.reason
            assert found.value == (0 if below else None)
            continue
        finite += 1
        low, high_end = oracle.oddsratio_pooled_confint()
        assert (found.value, found.lower, found.upper) == pytest.approx((oracle.oddsratio_pooled, low, high_end), rel=1e-9)
        if len(tables) == 1:
            assert found.homogeneity.reason == ONE_STRATUM
        # Nearer to 1, digits of the oracle cancel.
        elif abs(oracle.oddsratio_pooled - 1) > 1e-3:
            equal = oracle.test_equal_odds()
            assert found.homogeneity.statistic == pytest.approx(equal.statistic, rel=1e-9, abs=1e-9)
            assert found.homogeneity.p_value == pytest.approx(equal.pvalue, rel=1e-9, abs=1e-9)
    assert finite > 500


def test_strata_with_equal_odds_have_a_test_of_homogeneity() -> None:
    """The formula of statsmodels divides by zero there."""
    found = stratify_odds(WOMEN, MEN, np.array([(10, 20, 10, 20), (5, 5, 5, 5)]))
    assert found.value == 1
    assert (found.homogeneity.statistic, found.homogeneity.p_value) == pytest.approx((0, 1))


def test_odds_ratios_are_those_of_statsmodels() -> None:
    rng = np.random.default_rng(21)
    for cells in rng.integers(1, 400, (1_000, 2, 2)):
        one, other = (Category((name,), int(row.sum()), int(row[0])) for name, row in zip(("f", "m"), cells, strict=True))
        found, oracle = compute_odds_ratio(one, other), Table2x2(cells, shift_zeros=False)
        assert (found.value, found.lower, found.upper) == pytest.approx((oracle.oddsratio, *oracle.oddsratio_confint()), rel=1e-9)


@pytest.mark.nightly
def test_a_thousand_random_tables_have_the_adjusted_odds_of_a_logit_of_every_person() -> None:
    """Cells are often empty, so that values of a control drop out and some tables have no finite odds ratio."""
    rng = np.random.default_rng(22)
    finite = 0
    for _ in range(1_000):
        high = int(rng.choice([3, 6, 15]))
        cells = rng.integers(0, high, (6, 4))
        found, fit = adjust_odds(WOMEN, MEN, TOWNS_AND_JOBS, cells).odds, logit(TOWNS_AND_JOBS, cells)
        if found.value is None:
            assert found.reason
            assert fit is None
            continue
        finite += 1
        assert fit is not None
        low, high_end = fit.conf_int()[0]
        assert (found.value, found.lower, found.upper) == pytest.approx(
            tuple(math.exp(end) for end in (fit.params[0], low, high_end)), rel=1e-9
        )
    assert 800 < finite < 1_000


def logit(controls: np.ndarray, cells: np.ndarray) -> BinaryResultsWrapper | None:
    """The fit of every person that says something; None where nobody does, or where it diverges."""
    used = [(*controls[place], *cells[place]) for place in find_informative(controls, cells.reshape(-1, 2, 2))]
    sides = [(town, job, side, *cell[2 * (1 - side) :][:2]) for town, job, *cell in used for side in (1, 0)]
    sides = [side for side in sides if side[3] + side[4]]
    towns, jobs = (sorted({side[place] for side in sides})[1:] for place in (0, 1))
    terms = np.array([[side, 1, *(town == t for t in towns), *(job == j for j in jobs)] for town, job, side, *_ in sides], float)
    if not sides or np.linalg.matrix_rank(terms) < terms.shape[1]:
        return None
    people = np.array([side[3:] for side in sides])
    rows = np.repeat(np.vstack([terms, terms]), people.T.ravel(), axis=0)
    outcomes = np.repeat([1.0, 0.0], people.sum(axis=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fit = Logit(outcomes, rows).fit(disp=False, tol=1e-14, maxiter=60)
        except (np.linalg.LinAlgError, PerfectSeparationError):
            return None
    return None if np.abs(fit.params).max() > 15 else fit


def test_an_adjusted_odds_ratio_without_a_finite_value_has_a_reason() -> None:
    found = adjust_odds(WOMEN, MEN, np.array([[0]]), np.array([(10, 0, 5, 5)])).odds
    assert found.value is None
    assert "no finite value" in str(found.reason)


def test_a_value_of_a_control_that_says_nothing_is_left_out() -> None:
    towns, cells = np.array([[0], [1], [2]]), np.array([(10, 5, 5, 5), (7, 0, 3, 0), (1, 4, 0, 0)])

    found = adjust_odds(WOMEN, MEN, towns, cells)
    assert (found.people, found.left_out) == (25, 15)
    assert found.odds.value == pytest.approx(2.0)
    assert adjust_odds(WOMEN, MEN, towns[1:], cells[1:]).odds.reason


def test_controls_that_say_the_same_change_nothing() -> None:
    towns, cells = np.array([[0], [1]]), np.array([(8, 4, 5, 4), (9, 5, 6, 5)])
    once = adjust_odds(WOMEN, MEN, towns, cells).odds.value
    assert adjust_odds(WOMEN, MEN, np.hstack([towns, 3 * towns]), cells).odds.value == pytest.approx(once)


def test_a_gap_that_a_control_explains_has_an_adjusted_odds_ratio_around_1() -> None:
    """Selection depends on the job alone, and women apply for the job with fewer places."""
    rng = np.random.default_rng(23)
    hits = 0
    for _ in range(200):
        strata = []
        for rate, women, men in ((0.2, 300, 100), (0.6, 100, 300)):
            chosen, others = int(rng.binomial(women, rate)), int(rng.binomial(men, rate))
            strata.append((chosen, women - chosen, others, men - others))
        cells = np.array(strata)
        pooled, odds = stratify_odds(WOMEN, MEN, cells), adjust_odds(WOMEN, MEN, np.array([[0], [1]]), cells).odds
        assert None not in {pooled.lower, pooled.upper, odds.lower, odds.upper}
        hits += (pooled.lower or 0) <= 1 <= (pooled.upper or 0)
        hits += (odds.lower or 0) <= 1 <= (odds.upper or 0)
    assert 364 <= hits <= 396
