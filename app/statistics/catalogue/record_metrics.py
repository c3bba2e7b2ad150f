"""Metrics that need the records themselves."""

from functools import partial

from .metric import Data, Direction, Metric, NeededInput, RowFigure

_build_metric = partial(Metric, measure=RowFigure())


def _build_consistency(
    key: str,
    title: str,
    *,
    outcome: str,
    data: tuple[Data, ...],
    needs: tuple[NeededInput, ...],
    aliases: tuple[str, ...] = (),
) -> Metric:
    return _build_metric(
        key,
        title,
        "1 - mean of abs(y - mean y of the 5 nearest records), the record itself among them, y the "
        f"{outcome}",
        data=data,
        scopes=("overall", "group"),
        ideal=1.0,
        direction=Direction.HIGHER,
        convention="1 where every record has the same outcome as the records most like it; features are "
        "standardised",
        source="AIF360; Zemel et al. 2013",
        says=f"{{Subject}}, a record's {outcome} agrees with {{percent}} of those of the records most like "
        "it.",
        needs=needs,
        aliases=aliases,
    )


def _build_rich_subgroup(key: str, title: str, *, rate: str, alias: str) -> Metric:
    return _build_metric(
        key,
        title,
        f"largest abs({rate}(subgroup) - {rate}) · judged members of the subgroup / all records, over "
        "subgroups on one side of a line",
        data=("labelled",),
        scopes=("overall",),
        ideal=0.0,
        direction=Direction.LOWER,
        convention="0 where no subgroup of the protected attributes has another rate; weighted by the size "
        "of the subgroup",
        source="Kearns et al. 2018; AIF360 (whose rate of the other side is not followed)",
        says="The worst subgroup that could be found by a line through the protected attributes accounts "
        "for {points} percentage points.",
        needs=("predictions", "labels", "rows"),
        aliases=(alias,),
    )


METRICS = (
    _build_metric(
        "counterfactual_flip_test",
        "Counterfactual flip test (FT)",
        "(F+ - F-) / n(monitored), F+ unfavourable records whose nearest reference records are favourable, "
        "F- the reverse",
        data=("as_logged",),
        scopes=("group", "pooled", "worst"),
        lowest=-1.0,
        ideal=0.0,
        direction=Direction.TOWARDS_IDEAL,
        convention="above 0 monitored records are treated worse than reference records like them (AWS's "
        "documentation; its library has the opposite sign); features are standardised; not quite 0 where all "
        "are treated alike by chance: a majority of 5 exaggerates (with 60 % favourable it is 0.08, with 80 "
        "% 0.14), so there is no usual limit",
        source="Clarify FT",
        says="Compared with the records of {reference} most like them, those of {monitored} are treated "
        "worse {points} percentage points {less} often than better.",
        needs=("predictions", "rows"),
        aliases=("Clarify FT",),
        disadvantage="above",
    ),
    _build_consistency(
        "consistency",
        "Consistency of the labels",
        outcome="label",
        data=("training", "labelled"),
        needs=("labels", "rows"),
        aliases=("AIF360 consistency",),
    ),
    _build_consistency(
        "prediction_consistency",
        "Consistency of the predictions",
        outcome="prediction",
        data=("as_logged",),
        needs=("predictions", "rows"),
    ),
    _build_rich_subgroup(
        "rich_subgroup_false_positive",
        "Rich subgroup, false positives",
        rate="FPR",
        alias="AIF360 rich_subgroup FP",
    ),
    _build_rich_subgroup(
        "rich_subgroup_false_negative",
        "Rich subgroup, false negatives",
        rate="FNR",
        alias="AIF360 rich_subgroup FN",
    ),
)
