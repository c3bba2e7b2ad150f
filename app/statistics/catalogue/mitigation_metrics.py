"""Outcomes of mitigation: fairness and accuracy before and after, of the same records."""

from functools import partial

from ..formulas import paired_cells as pairs
from ..group_labels import AnyArray
from ..intervals.rate_estimates import LABELLED, PARTS, RATIO
from ..intervals.verdicts import Scope
from .metric import (
    ComparedRate,
    Data,
    Direction,
    Measure,
    Metric,
    Need,
    Needs,
    OfPair,
    OfSet,
    Over,
    RateOf,
    parts,
    ratio_row,
)
from .quality_metrics import EVERYONE
from .selection_metrics import AGAINST_REFERENCE, GROUPS

_MONITORED: tuple[Scope, ...] = ("group", "pooled")
_SOURCE = "Evenhand, mitigation"
_NEEDS: dict[Data, tuple[Needs, ...]] = {
    "mitigated": ("predictions", "copies"),
    "mitigated_labelled": ("predictions", "labels", "copies"),
}
_STORED = frozenset(
    f"{figure}_{when}"
    for figure in ("selection_rate", "disparate_impact", "accuracy")
    for when in ("before", "after")
)
"""Others are measured on request."""

_ENDLESS = "the reference rate is zero, before mitigation or after it, so nothing can be divided by it"
_DIRECT = "flipping removes direct bias only, so read the figures as logged and counterfactual together"


def _with_label(cells: AnyArray, label: int) -> AnyArray:
    return PARTS["records"].of(cells[..., label, :, :])


_CLASSIFIED = (Need(PARTS["records"].of, "no record{of} was classified"),)
_COMPARED = (Need(PARTS["records"].of, LABELLED),)
_BY_LABEL = (
    Need(partial(_with_label, label=1), PARTS["actual_favourable"].empty),
    Need(partial(_with_label, label=0), PARTS["actual_unfavourable"].empty),
)


def _rate(
    key: str, title: str, formula: str, rate: str, convention: str, scopes: tuple[Scope, ...] = _MONITORED
) -> Metric:
    return Metric(
        key,
        title,
        formula,
        data=("mitigated",),
        measure=RateOf(rate),
        scopes=scopes,
        convention=convention,
        source=_SOURCE,
        needs=_NEEDS["mitigated"],
        is_default=True,
        is_stored=key in _STORED,
    )


def _impact(key: str, title: str, formula: str, rate: str, convention: str) -> Metric:
    return ratio_row(
        key,
        title,
        formula,
        data=("mitigated",),
        measure=ComparedRate(rate, RATIO),
        scopes=AGAINST_REFERENCE,
        convention=convention,
        source=_SOURCE,
        needs=_NEEDS["mitigated"],
        limits=(0.8, 1.25),
        disadvantage="below",
        is_default=True,
        is_stored=key in _STORED,
        redefined_on=("mitigated",) if rate.startswith("counterfactual") else (),
    )


def _quality(key: str, title: str, formula: str, measure: Measure, says: str, convention: str) -> Metric:
    return Metric(
        key,
        title,
        formula,
        data=("mitigated_labelled",),
        measure=measure,
        scopes=EVERYONE,
        ideal=1.0,
        direction=Direction.HIGHER,
        convention=convention,
        source=_SOURCE,
        says=says,
        needs=_NEEDS["mitigated_labelled"],
        is_default=True,
        is_stored=key in _STORED,
    )


def _change(key: str, title: str, formula: str, measure: OfSet | OfPair, says: str) -> Metric:
    is_of_labels = isinstance(measure, OfSet)
    data: Data = "mitigated_labelled" if is_of_labels else "mitigated"
    return Metric(
        key,
        title,
        formula,
        data=(data,),
        measure=measure,
        scopes=EVERYONE if is_of_labels else _MONITORED,
        lowest=-1.0 if is_of_labels else None,
        highest=1.0 if is_of_labels else None,
        direction=Direction.HIGHER if is_of_labels else Direction.NONE,
        convention="after - before, of the same records: above 0 the figure is higher with mitigation",
        source=_SOURCE,
        says=says,
        needs=_NEEDS[data],
        is_default=True,
        is_stored=key in _STORED,
    )


def _balanced_accuracy(over: Over) -> OfSet:
    return OfSet(pairs.balanced_accuracy, over, parts("actual_favourable", "actual_unfavourable"))


ROWS = (
    _rate(
        "selection_rate_before",
        "Selection rate before mitigation",
        "favourable before(g) / n(g)",
        "favourable_before",
        "the share of a group's records that the model itself gives the favourable outcome",
        GROUPS,
    ),
    _rate(
        "selection_rate_after",
        "Selection rate after mitigation",
        "favourable after(g) / n(g)",
        "favourable_after",
        "the share of a group's records with a favourable mitigated outcome; reference records keep their "
        "own",
        GROUPS,
    ),
    _impact(
        "disparate_impact_before",
        "Disparate impact before mitigation",
        "selection_rate_before(monitored) / selection_rate_before(reference)",
        "favourable_before",
        "monitored / reference, of the records alone: below 1 the monitored group is favoured less often",
    ),
    _impact(
        "disparate_impact_after",
        "Disparate impact after mitigation",
        "selection_rate_after(monitored) / selection_rate_after(reference)",
        "favourable_after",
        "monitored / reference, of the records alone: below 1 the monitored group is favoured less often; "
        f"{_DIRECT}",
    ),
    _impact(
        "counterfactual_disparate_impact_before",
        "Counterfactual disparate impact before mitigation",
        "counterfactual favourable rate before(monitored) / counterfactual favourable rate before(reference)",
        "counterfactual_before",
        "monitored / reference, every record once on each side: that of counterfactual data",
    ),
    _impact(
        "counterfactual_disparate_impact_after",
        "Counterfactual disparate impact after mitigation",
        "counterfactual favourable rate after(monitored) / counterfactual favourable rate after(reference)",
        "counterfactual_after",
        "monitored / reference, every record once on each side, itself and its counterfactuals mitigated; "
        f"{_DIRECT}",
    ),
    _rate(
        "changed_rate",
        "Changed by mitigation",
        "records with another outcome after mitigation / n(g)",
        "changed",
        "lifted_rate + lowered_rate; neither more nor less is better by itself",
    ),
    _rate(
        "lifted_rate",
        "Lifted by mitigation",
        "unfavourable records that are favourable after mitigation / n(g)",
        "lifted",
        "lifted: mitigation turns an unfavourable outcome favourable",
    ),
    _rate(
        "lowered_rate",
        "Lowered by mitigation",
        "favourable records that are unfavourable after mitigation / n(g)",
        "lowered",
        "lowered: mitigation turns a favourable outcome unfavourable; lift_only never does",
    ),
    _change(
        "disparate_impact_change",
        "Change of disparate impact by mitigation",
        "disparate_impact_after - disparate_impact_before",
        OfPair(pairs.disparate_impact_change, "changes", _CLASSIFIED, endless=_ENDLESS),
        "Mitigation moves the disparate impact of {monitored} against {reference} by {moved}.",
    ),
    _quality(
        "accuracy_before",
        "Accuracy before mitigation",
        "correct before(g) / n(g)",
        RateOf("correct_before"),
        "",
        "the share of labelled records whose predicted label is the actual one",
    ),
    _quality(
        "accuracy_after",
        "Accuracy after mitigation",
        "correct after(g) / n(g)",
        RateOf("correct_after"),
        "",
        "the share of labelled records whose mitigated label is the actual one",
    ),
    _quality(
        "balanced_accuracy_before",
        "Balanced accuracy before mitigation",
        "(TPR + TNR) / 2 before",
        _balanced_accuracy("confusion"),
        "{Subject}, {percent} of the predictions are right before mitigation, if favourable and "
        "unfavourable labels count alike.",
        "of one group's labelled records and the model's own outcomes; positive means favourable",
    ),
    _quality(
        "balanced_accuracy_after",
        "Balanced accuracy after mitigation",
        "(TPR + TNR) / 2 after",
        _balanced_accuracy("confusion_after"),
        "{Subject}, {percent} of the predictions are right after mitigation, if favourable and unfavourable "
        "labels count alike.",
        "of one group's labelled records and the mitigated outcomes; positive means favourable",
    ),
    _change(
        "accuracy_change",
        "Change of accuracy by mitigation",
        "accuracy_after - accuracy_before",
        OfSet(pairs.rate_change, "corrections", _COMPARED),
        "{Subject}, mitigation moves the accuracy by {moved_points} percentage points.",
    ),
    _change(
        "balanced_accuracy_change",
        "Change of balanced accuracy by mitigation",
        "balanced_accuracy_after - balanced_accuracy_before",
        OfSet(pairs.balanced_accuracy_change, "label_changes", _BY_LABEL),
        "{Subject}, mitigation moves the balanced accuracy by {moved_points} percentage points.",
    ),
)
