"""Favourable outcomes by group, and their odds, for rules on adverse impact and lending."""

from functools import partial

from ..formulas import strata_odds
from ..intervals.rate_estimates import DIFFERENCE, RATIO, REVERSED_DIFFERENCE
from ..intervals.verdicts import FigureScope, warn_of_small_strata
from .metric import (
    PREDICTION_NEEDS,
    Direction,
    Metric,
    PairFigure,
    RateComparison,
    RateFigure,
    StrataFigure,
    build_difference,
    build_ratio,
    build_reversed_difference,
)

GROUP_SCOPES: tuple[FigureScope, ...] = ("group", "pooled", "reference")
REFERENCE_SCOPES: tuple[FigureScope, ...] = ("group", "pooled", "worst")
PAIR_SCOPES: tuple[FigureScope, ...] = (*REFERENCE_SCOPES, "worst_pair")


_REASON_IF_INFINITE = (
    "within every stratum all records{of} are favourable, or none of the reference group is, so the "
    "odds ratio has no finite value"
)

_build_odds_ratio = partial(build_ratio, data=("as_logged",), scopes=REFERENCE_SCOPES, disadvantage="below")
_build_strata_ratio = partial(
    _build_odds_ratio,
    convention="monitored / reference, of records with the same value of the monitor's strata; other strata "
    "are left out",
    needs=("predictions", "strata"),
)

METRICS = (
    Metric(
        "favourable_rate",
        "Favourable rate",
        "favourable(g) / n(g)",
        data=("as_logged", "openscale", "counterfactual"),
        measure=RateFigure("favourable"),
        scopes=("overall", *GROUP_SCOPES),
        convention="the share of a group's records with a favourable prediction; on openscale with "
        "their copies, each a record; on"
        " counterfactual data of all compared records, each as the model answers it with the group's value",
        source="OpenScale; AIF360; fairlearn",
        needs=("predictions",),
        aliases=("AIF360 selection_rate", "fairlearn selection_rate", "Clarify q'"),
        is_default=True,
        redefined_on=("counterfactual",),
    ),
    build_ratio(
        "disparate_impact",
        "Disparate impact",
        "favourable_rate(monitored) / favourable_rate(reference)",
        data=("as_logged", "counterfactual"),
        measure=RateComparison("favourable", RATIO),
        scopes=PAIR_SCOPES,
        convention="monitored / reference: below 1 the monitored group is favoured less often",
        source="OpenScale fairness value; AIF360; Clarify DI",
        needs=("predictions",),
        limits=(0.8, 1.25),
        disadvantage="below",
        aliases=(
            "OpenScale fairness_value",
            "AIF360 disparate_impact",
            "Clarify DI",
            "fairlearn demographic_parity_ratio",
        ),
        is_default=True,
        redefined_on=("counterfactual",),
    ),
    build_difference(
        "statistical_parity_difference",
        "Statistical parity difference",
        "favourable_rate(monitored) - favourable_rate(reference)",
        data=("as_logged", "counterfactual"),
        measure=RateComparison("favourable", DIFFERENCE),
        scopes=PAIR_SCOPES,
        convention="monitored - reference: below 0 the monitored group is favoured less often",
        source="OpenScale; AIF360",
        needs=("predictions",),
        limits=(-0.1, 0.1),
        disadvantage="below",
        aliases=(
            "OpenScale statistical_parity_difference",
            "AIF360 statistical_parity_difference",
            "AIF360 mean_difference",
            "fairlearn demographic_parity_difference",
        ),
        is_default=True,
    ),
    build_reversed_difference(
        "difference_in_positive_proportions_in_predicted_labels",
        "Difference in positive proportions in predicted labels (DPPL)",
        "favourable_rate(reference) - favourable_rate(monitored)",
        data=("as_logged",),
        measure=RateComparison("favourable", REVERSED_DIFFERENCE),
        scopes=PAIR_SCOPES,
        convention="reference - monitored: above 0 the monitored group is favoured less often",
        source="Clarify DPPL",
        needs=("predictions",),
        limits=(-0.1, 0.1),
        disadvantage="above",
        aliases=("Clarify DPPL",),
    ),
    Metric(
        "perfect_equality",
        "Perfect equality",
        "favourable_rate(reference records, original and synthesised from every monitored value)",
        data=("openscale",),
        measure=RateFigure("perfect_equality"),
        scopes=("attribute",),
        convention="the favourable rate that OpenScale holds the monitored groups' against, every copy "
        "counted as a record",
        source="OpenScale",
        needs=("predictions", "copies"),
        aliases=("OpenScale perfect_equality",),
        is_default=True,
    ),
    build_ratio(
        "openscale_fairness",
        "OpenScale fairness",
        "favourable_rate(monitored records, original and synthesised) / perfect_equality",
        data=("openscale",),
        measure=RateComparison("favourable", RATIO),
        scopes=REFERENCE_SCOPES,
        convention="OpenScale's own figure: every copy counts as a record, so several values or draws on a "
        "side weigh some records more than others; the counterfactual disparate impact does not, and bears "
        "the verdict. Under limits of its own it is judged by its value alone, as OpenScale does",
        source="OpenScale fairness value on perturbed data",
        needs=("predictions", "copies"),
        aliases=("OpenScale fairness_value on payload and perturbed data",),
        is_default=True,
        is_judged_by_value=True,
    ),
    Metric(
        "flip_rate",
        "Flip rate",
        "records with another outcome under at least one copy / records with a copy",
        data=("counterfactual",),
        measure=RateFigure("flipped", parts=("gained", "lost")),
        scopes=("attribute", "group"),
        ideal=0.0,
        direction=Direction.LOWER,
        convention="flipped are those gained, which the changed value would turn favourable, and those lost, "
        "which it would turn unfavourable",
        source="counterfactual fairness; OpenScale individual bias",
        needs=("predictions", "copies"),
        is_default=True,
    ),
    _build_odds_ratio(
        "odds_ratio",
        "Odds ratio",
        "(favourable(m) / unfavourable(m)) / (favourable(r) / unfavourable(r))",
        measure=PairFigure(
            strata_odds.odds_ratio,
            "predictions",
            PREDICTION_NEEDS,
            reason_if_infinite="all records{of} are favourable, or none of the reference group is, so the "
            "odds ratio has no finite value",
        ),
        convention="monitored / reference: below 1 the monitored group is favoured less often; further from "
        "1 than the ratio",
        source="Uniform Guidelines; statsmodels Table2x2",
        says="The odds of a favourable outcome for {monitored} are {shown} times those for {reference}.",
        needs=("predictions",),
        aliases=("statsmodels Table2x2.oddsratio",),
    ),
    _build_strata_ratio(
        "mantel_haenszel_odds_ratio",
        "Odds ratio given the strata (Mantel–Haenszel)",
        "sum over strata i of favourable_i(m) unfavourable_i(r) / n_i, over the sum of unfavourable_i(m) "
        "favourable_i(r) / n_i",
        measure=StrataFigure(
            strata_odds.common_odds_ratio,
            "predictions",
            strata_odds.common_odds_limits,
            strata_odds.METHOD_OF_COMMON,
            reason_if_infinite=_REASON_IF_INFINITE,
        ),
        source="Mantel and Haenszel 1959; statsmodels StratifiedTable",
        says="Among like records, the odds of a favourable outcome for {monitored} are {shown} times those "
        "for {reference}.",
        aliases=("statsmodels StratifiedTable.oddsratio_pooled",),
    ),
    _build_strata_ratio(
        "adjusted_odds_ratio",
        "Adjusted odds ratio (logit)",
        "exp(b) of logit(favourable) = b monitored + a term for each stratum, by largest likelihood",
        measure=StrataFigure(
            strata_odds.adjusted_odds_ratio,
            "predictions",
            strata_odds.adjusted_odds_limits,
            strata_odds.METHOD_OF_ADJUSTED,
            warn_of_small_strata,
            _REASON_IF_INFINITE,
        ),
        source="logistic regression; statsmodels Logit",
        says="In a logit fit with a term for each stratum, the odds of a favourable outcome for {monitored} "
        "are {shown} times those for {reference}.",
        aliases=("statsmodels Logit",),
    ),
)
