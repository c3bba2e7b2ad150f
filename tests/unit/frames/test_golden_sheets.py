"""Sheets of rules on the golden predictions of Adult next to statsmodels and scipy, each to 1e-9."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import fisher_exact, ttest_ind
from statsmodels.discrete.discrete_model import Logit
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.contingency_tables import StratifiedTable, Table2x2
from statsmodels.stats.proportion import proportions_ztest

from app.library.selections import report_selections
from tests.golden import golden

EXACT = {"rel": 1e-9, "abs": 1e-12}


@pytest.fixture(scope="module")
def adult() -> pd.DataFrame:
    return pd.read_csv(golden("A1_adult") / "predictions.csv", keep_default_na=False)


def cells_of(frame: pd.DataFrame) -> np.ndarray:
    """Women and men, selected and not."""
    return np.array(
        [[int(((frame["sex"] == sex) & (frame["prediction"] == outcome)).sum()) for outcome in (1, 0)] for sex in ("Female", "Male")]
    )


def test_adverse_impact_is_that_of_the_oracles(adult: pd.DataFrame) -> None:
    found = report_selections(adult, preset="ugesp", attribute="sex", prediction="prediction").to_json()
    row = next(one for one in found["sheets"]["adverse_impact"]["tables"][0]["rows"] if one["category"] == "Female")
    cells = cells_of(adult)
    odds, z = Table2x2(cells, shift_zeros=False), proportions_ztest(cells[:, 0], cells.sum(axis=1))[0]

    assert (row["selected"], row["applicants"]) == (cells[0, 0], cells[0].sum())
    assert (row["odds_ratio"], row["odds_ratio_low"], row["odds_ratio_high"]) == pytest.approx(
        (odds.oddsratio, *odds.oddsratio_confint()), **EXACT
    )
    assert row["impact_ratio"] == pytest.approx(odds.riskratio, **EXACT)
    assert row["z"] == pytest.approx(z, **EXACT)
    assert row["fisher_p"] == pytest.approx(fisher_exact(cells).pvalue, rel=1e-9)


@pytest.mark.thorough
def test_odds_and_gaps_given_a_control_are_those_of_the_oracles(adult: pd.DataFrame) -> None:
    report = report_selections(
        adult,
        preset="lending",
        attribute="sex",
        prediction="prediction",
        score="score",
        reference={"sex": ["Male"]},
        control=["education"],
    ).to_json()
    (row,) = report["sheets"]["controls"]["tables"][0]["rows"]
    informative = adult[adult.groupby("education")["prediction"].transform("nunique") == 2]
    informative = informative[informative.groupby("education")["sex"].transform("nunique") == 2]
    pooled = StratifiedTable([cells_of(part).astype(float) for _, part in informative.groupby("education")])
    levels = sorted(informative["education"].unique())
    terms = np.column_stack(
        [informative["sex"] == "Female", np.ones(len(informative)), *(informative["education"] == level for level in levels[1:])]
    )
    # Newton's last step of 1e-12 leaves an error of its square; at 1e-14 some versions of numpy go round in circles.
    fit = Logit(informative["prediction"].to_numpy(), terms.astype(float)).fit(disp=False, tol=1e-12, maxiter=60)

    assert row["mantel_haenszel"]["value"] == pytest.approx(pooled.oddsratio_pooled, **EXACT)
    assert (row["mantel_haenszel"]["lower"], row["mantel_haenszel"]["upper"]) == pytest.approx(pooled.oddsratio_pooled_confint(), **EXACT)
    assert row["mantel_haenszel"]["cmh"]["statistic"] == pytest.approx(pooled.test_null_odds().statistic, **EXACT)
    assert row["mantel_haenszel"]["homogeneity"]["statistic"] == pytest.approx(pooled.test_equal_odds().statistic, **EXACT)
    odds = row["logit"]["odds"]
    assert (odds["value"], odds["lower"], odds["upper"]) == pytest.approx(
        [math.exp(end) for end in (fit.params[0], *fit.conf_int()[0])], **EXACT
    )

    (row,) = report["sheets"]["lending"]["tables"][0]["rows"]
    women, men = (adult.loc[adult["sex"] == sex, "score"].to_numpy() for sex in ("Female", "Male"))
    gap, deviation = row["score"]["gap"], adult["score"].std(ddof=0)
    assert gap["smd"] == pytest.approx((women.mean() - men.mean()) / deviation, **EXACT)
    assert gap["smd_within"] == pytest.approx(ttest_ind(women, men).statistic * math.sqrt(1 / women.size + 1 / men.size), **EXACT)
    all_levels = np.column_stack(
        [adult["sex"] == "Female", *(adult["education"] == value for value in sorted(adult["education"].unique()))]
    )
    residual = OLS(adult["score"].to_numpy(), all_levels.astype(float)).fit().params[0] / deviation
    assert row["score"]["residual"]["smd"] == pytest.approx(residual, **EXACT)
