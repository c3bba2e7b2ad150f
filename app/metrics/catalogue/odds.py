"""Metrics of the odds of an outcome, which rules on adverse impact and lending look at next to the ratio of rates."""

from ..formulas import odds
from .metric import Direction, Metric, OfPair
from .needed import PREDICTIONS

ROWS = (
    Metric(
        key="odds_ratio",
        title="Odds ratio",
        formula="(favourable(m) / unfavourable(m)) / (favourable(r) / unfavourable(r))",
        data=("payload", "feedback"),
        measure=OfPair(
            odds.odds_ratio,
            "predictions",
            PREDICTIONS,
            endless="all records{of} are favourable, or none of the reference group is, so the odds ratio has no finite value",
        ),
        scopes=("group", "pooled", "worst"),
        lowest=0.0,
        highest=None,
        ideal=1.0,
        direction=Direction.TOWARDS_IDEAL,
        convention="monitored / reference: below 1 the monitored group is favoured less often; further from 1 than the ratio",
        source="Uniform Guidelines; statsmodels Table2x2",
        says="The odds of a favourable outcome for {monitored} are {shown} times those for {reference}.",
        order="monitored / reference",
        needs=("predictions",),
        disadvantage="below",
        aliases=("statsmodels Table2x2.oddsratio",),
    ),
)
