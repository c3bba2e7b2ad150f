"""Metrics of the odds of an outcome, for rules on adverse impact and lending."""

from functools import partial

from ..formulas import strata_odds
from ..intervals.cautions import caution_of_terms
from .metric import PREDICTIONS, OfPair, OverStrata, ratio_row

_ENDLESS = (
    "within every stratum all records{of} are favourable, or none of the reference group is, so the "
    "odds ratio has no finite value"
)


_compared = partial(ratio_row, data=("as_logged",), scopes=("group", "pooled", "worst"), disadvantage="below")
_given_strata = partial(
    _compared,
    convention="monitored / reference, of records with the same value of the monitor's strata; other strata "
    "are left out",
    needs=("predictions", "strata"),
)

ROWS = (
    _compared(
        "odds_ratio",
        "Odds ratio",
        "(favourable(m) / unfavourable(m)) / (favourable(r) / unfavourable(r))",
        measure=OfPair(
            strata_odds.odds_ratio,
            "predictions",
            PREDICTIONS,
            endless="all records{of} are favourable, or none of the reference group is, so the odds ratio "
            "has no finite value",
        ),
        convention="monitored / reference: below 1 the monitored group is favoured less often; further from "
        "1 than the ratio",
        source="Uniform Guidelines; statsmodels Table2x2",
        says="The odds of a favourable outcome for {monitored} are {shown} times those for {reference}.",
        needs=("predictions",),
        aliases=("statsmodels Table2x2.oddsratio",),
    ),
    _given_strata(
        "mantel_haenszel_odds_ratio",
        "Odds ratio given the strata (Mantel–Haenszel)",
        "sum over strata i of favourable_i(m) unfavourable_i(r) / n_i, over the sum of unfavourable_i(m) "
        "favourable_i(r) / n_i",
        measure=OverStrata(
            strata_odds.common_odds_ratio,
            "predictions",
            strata_odds.common_odds_limits,
            strata_odds.METHOD_OF_COMMON,
            endless=_ENDLESS,
        ),
        source="Mantel and Haenszel 1959; statsmodels StratifiedTable",
        says="Among like records, the odds of a favourable outcome for {monitored} are {shown} times those "
        "for {reference}.",
        aliases=("statsmodels StratifiedTable.oddsratio_pooled",),
    ),
    _given_strata(
        "adjusted_odds_ratio",
        "Adjusted odds ratio (logit)",
        "exp(b) of logit(favourable) = b monitored + a term for each stratum, by largest likelihood",
        measure=OverStrata(
            strata_odds.adjusted_odds_ratio,
            "predictions",
            strata_odds.adjusted_odds_limits,
            strata_odds.METHOD_OF_ADJUSTED,
            caution_of_terms,
            _ENDLESS,
        ),
        source="logistic regression; statsmodels Logit",
        says="In a logit fit with a term for each stratum, the odds of a favourable outcome for {monitored} "
        "are {shown} times those for {reference}.",
        aliases=("statsmodels Logit",),
    ),
)
