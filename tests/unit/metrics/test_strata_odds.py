"""Odds ratios given the strata: next to statsmodels, their intervals on simulated worlds, and where they do not exist."""

import numpy as np
import pytest
from scipy.stats import binom
from statsmodels.discrete.discrete_model import Logit
from statsmodels.stats.contingency_tables import StratifiedTable
from syrupy.assertion import SnapshotAssertion

from app.library.frame_report import build_judged_figure
from app.statistics.formulas.conditional_disparity import StrataOutcomes
from app.statistics.formulas.strata_odds import (
    adjusted_odds_limits,
    adjusted_odds_ratio,
    common_odds_limits,
    common_odds_ratio,
    measure_homogeneity,
)
from app.statistics.group_labels import FloatArray, IntArray, build_groups
from app.statistics.intervals.verdicts import Measured
from app.statistics.measures.measure import measure_as_logged
from app.statistics.sentences.figure_sentences import write_sentence
from app.statistics.sentences.statements import describe_strata, phrase_figure
from app.statistics.tables.count_table import GroupCounts
from tests.builders.page_words import says
from tests.builders.results import found, reason, value

SEXES = build_groups([("female", "monitored"), ("male", "reference")])
COMMON, ADJUSTED = "mantel_haenszel_odds_ratio", "adjusted_odds_ratio"

BERKELEY = np.array(
    [
        [[19, 89], [313, 512]],
        [[8, 17], [207, 353]],
        [[391, 202], [205, 120]],
        [[244, 131], [279, 138]],
        [[299, 94], [138, 53]],
        [[317, 24], [351, 22]],
    ]
)
"""Departments, women and men, rejected and admitted in 1973, as R's UCBAdmissions has them."""


def measured(cells: IntArray, weights: FloatArray | None = None) -> list[Measured]:
    """The figures of counts [S, 2 groups, 2 outcomes]; `weights` [S, 2, 2] are those of a record of each cell."""
    places = np.repeat(np.indices(cells.shape).reshape(3, -1), cells.ravel(), axis=1)
    strata, codes, outcomes = places
    labels = [str(place) for place in range(len(cells))]
    weighed = None if weights is None else weights[tuple(places)]
    table = GroupCounts.from_records(SEXES, codes, outcome=outcomes, weights=weighed, strata=(labels, strata))
    return measure_as_logged(table, metrics=[COMMON, ADJUSTED], draws=20)


def logit(cells: IntArray) -> tuple[float, float, float]:
    """The odds ratio and its limits by statsmodels, of the strata that say something."""
    used = cells[(cells.sum(axis=1) > 0).all(axis=1) & (cells.sum(axis=2) > 0).all(axis=1)]
    strata, codes, outcomes = np.repeat(np.indices(used.shape).reshape(3, -1), used.ravel(), axis=1)
    terms = np.column_stack([codes == 0, *(strata == place for place in range(len(used)))]).astype(float)
    fit = Logit(outcomes.astype(float), terms).fit(disp=False, tol=1e-14, maxiter=100)
    low, high = np.exp(fit.conf_int()[0])
    return float(np.exp(fit.params[0])), float(low), float(high)


@pytest.mark.nightly
def test_random_strata_have_the_odds_ratios_of_statsmodels() -> None:
    rng = np.random.default_rng(31)
    finite = 0
    for _ in range(200):
        cells = rng.integers(0, int(rng.choice([3, 20, 300])), (int(rng.integers(1, 6)), 2, 2))
        results = measured(cells)
        above, below = (cells[:, 0, 1] * cells[:, 1, 0]).sum(), (cells[:, 0, 0] * cells[:, 1, 1]).sum()
        if not below:
            assert reason(results, COMMON, "group", "female")
            assert reason(results, ADJUSTED, "group", "female")
            continue
        number = value(results, COMMON, "group", "female")
        if not above:
            adjusted = value(results, ADJUSTED, "group", "female")
            assert (number.value, number.lower, number.upper) == (adjusted.value, adjusted.lower, adjusted.upper) == (0, 0, None)
            continue
        finite += 1
        oracle = StratifiedTable([table[:, ::-1] for table in cells if table.any()])
        expected = (oracle.oddsratio_pooled, *oracle.oddsratio_pooled_confint())
        assert (number.value, number.lower, number.upper) == pytest.approx(expected, rel=1e-9)
    assert finite > 120


@pytest.mark.thorough
def test_random_strata_have_the_odds_ratio_of_a_logit_of_every_record() -> None:
    rng = np.random.default_rng(32)
    for _ in range(100):
        cells = rng.integers(0, int(rng.choice([5, 60])), (int(rng.integers(1, 6)), 2, 2))
        if (cells[:, 0, 1] * cells[:, 1, 0]).sum() and (cells[:, 0, 0] * cells[:, 1, 1]).sum():
            number = value(measured(cells), ADJUSTED, "group", "female")
            assert (number.value, number.lower, number.upper) == pytest.approx(logit(cells), rel=1e-9)


def test_women_of_berkeley_are_at_no_disadvantage_within_the_departments(snapshot: SnapshotAssertion) -> None:
    results = measured(BERKELEY)

    # 1 / 0.9046968 and its limits: mantelhaen.test(UCBAdmissions) of R, which has the men first.
    number = value(results, COMMON, "group", "female")
    assert (number.value, number.lower, number.upper) == pytest.approx((1 / 0.9046968, 1 / 1.0603298, 1 / 0.7719074), rel=1e-7)
    assert value(results, ADJUSTED, "group", "female").value == pytest.approx(logit(BERKELEY)[0], rel=1e-9)
    told = found(results, COMMON, "group", "female")
    assert says(
        text := write_sentence(COMMON, value=number.value, lower=number.lower, upper=number.upper, details=told.details),
        "female",
        "1.11",
        "male",
    )
    assert text == snapshot


def test_strata_of_a_few_records_caution_about_the_logit_alone() -> None:
    """Pairs of one woman and one man: the logit has the square of the odds ratio."""
    woman, man = np.array([[[0, 1], [1, 0]]]), np.array([[[1, 0], [0, 1]]])
    results = measured(np.concatenate([np.repeat(woman, 40, axis=0), np.repeat(man, 20, axis=0)]))

    assert value(results, COMMON, "group", "female").value == pytest.approx(2)
    assert value(results, ADJUSTED, "group", "female").value == pytest.approx(4)
    assert "60 strata of 2.0 records" in str(found(results, ADJUSTED, "group", "female").details.caution)
    assert found(results, COMMON, "group", "female").details.caution is None


@pytest.mark.parametrize(("strata", "people", "ratio"), [(4, 60, 0.6), (20, 20, 1.0), (2, 400, 2.0)])
def test_the_intervals_hold_the_truth_in_19_of_20_worlds(strata: int, people: int, ratio: float) -> None:
    """The rate falls and the share of women rises from stratum to stratum, so the ratio without strata is another one."""
    rng = np.random.default_rng(33)
    base = np.linspace(0.2, 0.7, strata)
    rates = np.stack([ratio * base / (1 - base) / (1 + ratio * base / (1 - base)), base])
    sizes = np.round(people * np.stack([np.linspace(0.7, 0.3, strata), np.linspace(0.3, 0.7, strata)])).astype(int)
    chosen = rng.binomial(sizes, rates, (2_000, 2, strata))
    one, other = (np.stack([sizes[side] - chosen[:, side], chosen[:, side]], axis=-1) for side in (0, 1))
    sides = [StrataOutcomes(cells, cells.astype(float), cells.astype(float)) for cells in (one, other)]
    for limits in (common_odds_limits, adjusted_odds_limits):
        lower, upper = limits(*sides)
        assert 0.935 <= np.mean((lower <= ratio) & (ratio <= upper)) <= 0.97


def test_weights_that_differ_widen_the_intervals_as_far_as_resampling_does() -> None:
    """A man weighs as much as four in one stratum, a woman as three in the other."""
    rng = np.random.default_rng(34)
    cells = np.array([[[30, 40], [50, 90]], [[60, 30], [80, 30]]])
    heavy = np.array([[[1.0], [4.0]], [[3.0], [1.0]]]) * np.ones((1, 1, 2))
    results = measured(cells, heavy)
    worlds = np.stack([rng.multinomial(side.sum(), side / side.sum(), 4_000) for side in cells.reshape(4, 2)], axis=1)
    resampled = worlds.reshape(-1, 2, 2, 2) * heavy
    for key, function in ((COMMON, common_odds_ratio), (ADJUSTED, adjusted_odds_ratio)):
        number = value(results, key, "group", "female")
        assert number.value == pytest.approx(function(cells[:, 0] * heavy[:, 0], cells[:, 1] * heavy[:, 1]))
        assert number.upper is not None
        assert number.lower is not None
        spread = np.log(function(resampled[:, :, 0], resampled[:, :, 1])).std()
        assert np.log(number.upper / number.lower) == pytest.approx(2 * 1.96 * spread, rel=0.06)


def test_homogeneity_is_that_of_statsmodels() -> None:
    rng = np.random.default_rng(25)
    for cells in [BERKELEY, *(rng.integers(1, 60, (int(rng.integers(2, 9)), 2, 2)) for _ in range(40))]:
        tested = measure_homogeneity(*(cells[:, side].astype(float) for side in (0, 1)))
        oracle = StratifiedTable(np.moveaxis(cells[:, :, ::-1], 0, 2).astype(float))
        assert tested is not None
        plain, corrected = (oracle.test_equal_odds(adjust=adjust) for adjust in (False, True))

        assert (tested.statistic, tested.p_value) == pytest.approx((plain.statistic, plain.pvalue), rel=1e-6)
        assert tested.tarone_p_value == pytest.approx(corrected.pvalue, rel=1e-6)


def test_strata_that_differ_are_in_the_sentence_of_the_pooled_figure(snapshot: SnapshotAssertion) -> None:
    one = found(measured(BERKELEY), COMMON, "group", "female")
    text = phrase_figure(build_judged_figure(one))

    assert one.details.homogeneity is not None
    assert says(text, "Breslow–Day", "0.82", "2.86")
    assert text == snapshot


@pytest.mark.parametrize(
    "cells",
    [
        pytest.param(BERKELEY[:1], id="one stratum"),
        pytest.param([[[0, 9], [0, 40]], [[30, 9], [20, 40]]], id="one with both outcomes"),
        pytest.param([[[9, 0], [7, 40]], [[30, 0], [20, 40]]], id="a common odds ratio of 0"),
        pytest.param([[[2, 3], [3, 2]]] * 30, id="few records each"),
    ],
)
def test_strata_are_not_compared_where_their_records_do_not_suffice(cells: IntArray) -> None:
    assert found(measured(np.asarray(cells)), COMMON, "group", "female").details.homogeneity is None


@pytest.mark.thorough
@pytest.mark.parametrize("strata", [2, 6, 20])
def test_strata_of_one_odds_ratio_seldom_differ_more_than_chance_explains(strata: int) -> None:
    rng, worlds, claims = np.random.default_rng(strata), 300, 0
    for _ in range(worlds):
        rates = rng.uniform(0.3, 0.7, strata)
        lower = 0.5 * rates / (1 - rates + 0.5 * rates)
        favourable = np.stack([rng.binomial(80, lower), rng.binomial(120, rates)], axis=1)
        cells = np.stack([np.array([80, 120]) - favourable, favourable], axis=2)
        details = found(measured(cells), COMMON, "group", "female").details
        claims += "differ more than" in str(describe_strata(details))

    assert claims <= binom.ppf(0.999, worlds, 0.05)
