"""Outcomes of mitigation: fairness and accuracy before and after, of the same records."""

from functools import partial

from ..formulas import paired_cells as pairs
from ..group_labels import AnyArray
from ..intervals.rate_estimates import NO_LABELLED_RECORD, PARTS, RATIO
from ..intervals.verdicts import Scope
from .metric import (
    ComparedRate,
    Direction,
    Metric,
    Need,
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
_ENDLESS = "the reference rate is zero, before mitigation or after it, so nothing can be divided by it"
_DIRECT = "flipping removes direct bias only, so read the figures as logged and counterfactual together"


def _with_label(cells: AnyArray, label: int) -> AnyArray:
    return PARTS["records"].of(cells[..., label, :, :])


_CLASSIFIED = (Need(PARTS["records"].of, "no record{of} was classified"),)
_COMPARED = (Need(PARTS["records"].of, NO_LABELLED_RECORD),)
_BY_LABEL = (
    Need(partial(_with_label, label=1), PARTS["actual_favourable"].empty),
    Need(partial(_with_label, label=0), PARTS["actual_unfavourable"].empty),
)


# Those that are not stored are measured on request.
_row = partial(Metric, source="Evenhand, mitigation", is_default=True)
_of_outcomes = partial(_row, data=("mitigated",), scopes=_MONITORED, needs=("predictions", "copies"))
_impact = partial(
    ratio_row,
    data=("mitigated",),
    scopes=AGAINST_REFERENCE,
    source="Evenhand, mitigation",
    needs=("predictions", "copies"),
    limits=(0.8, 1.25),
    disadvantage="below",
    is_default=True,
)
_counterfactual_impact = partial(_impact, is_stored=False, redefined_on=("mitigated",))
_quality = partial(
    _row,
    data=("mitigated_labelled",),
    scopes=EVERYONE,
    direction=Direction.HIGHER,
    needs=("predictions", "labels", "copies"),
)
_CHANGE = "after - before, of the same records: above 0 the figure is higher with mitigation"
_accuracy_change = partial(_quality, lowest=-1.0, convention=_CHANGE, is_stored=False)


def _balanced_accuracy(over: Over) -> OfSet:
    return OfSet(pairs.balanced_accuracy, over, parts("actual_favourable", "actual_unfavourable"))


ROWS = (
    _of_outcomes(
        "selection_rate_before",
        "Selection rate before mitigation",
        "favourable before(g) / n(g)",
        measure=RateOf("favourable_before"),
        scopes=GROUPS,
        convention="the share of a group's records that the model itself gives the favourable outcome",
    ),
    _of_outcomes(
        "selection_rate_after",
        "Selection rate after mitigation",
        "favourable after(g) / n(g)",
        measure=RateOf("favourable_after"),
        scopes=GROUPS,
        convention="the share of a group's records with a favourable mitigated outcome; reference records "
        "keep their own",
    ),
    _impact(
        "disparate_impact_before",
        "Disparate impact before mitigation",
        "selection_rate_before(monitored) / selection_rate_before(reference)",
        measure=ComparedRate("favourable_before", RATIO),
        convention="monitored / reference, of the records alone: below 1 the monitored group is favoured "
        "less often",
    ),
    _impact(
        "disparate_impact_after",
        "Disparate impact after mitigation",
        "selection_rate_after(monitored) / selection_rate_after(reference)",
        measure=ComparedRate("favourable_after", RATIO),
        convention="monitored / reference, of the records alone: below 1 the monitored group is favoured "
        "less often; "
        f"{_DIRECT}",
    ),
    _counterfactual_impact(
        "counterfactual_disparate_impact_before",
        "Counterfactual disparate impact before mitigation",
        "counterfactual favourable rate before(monitored) / counterfactual favourable rate before(reference)",
        measure=ComparedRate("counterfactual_before", RATIO),
        convention="monitored / reference, every record once on each side: that of counterfactual data",
    ),
    _counterfactual_impact(
        "counterfactual_disparate_impact_after",
        "Counterfactual disparate impact after mitigation",
        "counterfactual favourable rate after(monitored) / counterfactual favourable rate after(reference)",
        measure=ComparedRate("counterfactual_after", RATIO),
        convention="monitored / reference, every record once on each side, itself and its counterfactuals "
        "mitigated; "
        f"{_DIRECT}",
    ),
    _of_outcomes(
        "changed_rate",
        "Changed by mitigation",
        "records with another outcome after mitigation / n(g)",
        measure=RateOf("changed"),
        convention="lifted_rate + lowered_rate; neither more nor less is better by itself",
        is_stored=False,
    ),
    _of_outcomes(
        "lifted_rate",
        "Lifted by mitigation",
        "unfavourable records that are favourable after mitigation / n(g)",
        measure=RateOf("lifted"),
        convention="lifted: mitigation turns an unfavourable outcome favourable",
        is_stored=False,
    ),
    _of_outcomes(
        "lowered_rate",
        "Lowered by mitigation",
        "favourable records that are unfavourable after mitigation / n(g)",
        measure=RateOf("lowered"),
        convention="lowered: mitigation turns a favourable outcome unfavourable; lift_only never does",
        is_stored=False,
    ),
    _of_outcomes(
        "disparate_impact_change",
        "Change of disparate impact by mitigation",
        "disparate_impact_after - disparate_impact_before",
        measure=OfPair(pairs.disparate_impact_change, "changes", _CLASSIFIED, endless=_ENDLESS),
        says="Mitigation moves the disparate impact of {monitored} against {reference} by {moved}.",
        convention=_CHANGE,
        lowest=None,
        highest=None,
        is_stored=False,
    ),
    _quality(
        "accuracy_before",
        "Accuracy before mitigation",
        "correct before(g) / n(g)",
        measure=RateOf("correct_before"),
        ideal=1.0,
        convention="the share of labelled records whose predicted label is the actual one",
    ),
    _quality(
        "accuracy_after",
        "Accuracy after mitigation",
        "correct after(g) / n(g)",
        measure=RateOf("correct_after"),
        ideal=1.0,
        convention="the share of labelled records whose mitigated label is the actual one",
    ),
    _quality(
        "balanced_accuracy_before",
        "Balanced accuracy before mitigation",
        "(TPR + TNR) / 2 before",
        measure=_balanced_accuracy("confusion"),
        ideal=1.0,
        says="{Subject}, {percent} of the predictions are right before mitigation, if favourable and "
        "unfavourable labels count alike.",
        convention="of one group's labelled records and the model's own outcomes; positive means favourable",
        is_stored=False,
    ),
    _quality(
        "balanced_accuracy_after",
        "Balanced accuracy after mitigation",
        "(TPR + TNR) / 2 after",
        measure=_balanced_accuracy("confusion_after"),
        ideal=1.0,
        says="{Subject}, {percent} of the predictions are right after mitigation, if favourable and "
        "unfavourable labels count alike.",
        convention="of one group's labelled records and the mitigated outcomes; positive means favourable",
        is_stored=False,
    ),
    _accuracy_change(
        "accuracy_change",
        "Change of accuracy by mitigation",
        "accuracy_after - accuracy_before",
        measure=OfSet(pairs.rate_change, "corrections", _COMPARED),
        says="{Subject}, mitigation moves the accuracy by {moved_points} percentage points.",
    ),
    _accuracy_change(
        "balanced_accuracy_change",
        "Change of balanced accuracy by mitigation",
        "balanced_accuracy_after - balanced_accuracy_before",
        measure=OfSet(pairs.balanced_accuracy_change, "label_changes", _BY_LABEL),
        says="{Subject}, mitigation moves the balanced accuracy by {moved_points} percentage points.",
    ),
)
