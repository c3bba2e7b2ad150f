"""Outcomes of mitigation: fairness and accuracy before and after, of the same records."""

from functools import partial

from ..formulas import paired_cells
from ..group_labels import AnyArray
from ..intervals.rate_estimates import NO_LABELLED_RECORD, PARTS, RATIO
from ..intervals.verdicts import FigureScope
from .metric import (
    CellKind,
    Direction,
    Metric,
    Need,
    PairFigure,
    RateComparison,
    RateFigure,
    SetFigure,
    list_needs,
    ratio_row,
)
from .quality_metrics import OVERALL_SCOPES
from .selection_metrics import GROUP_SCOPES, REFERENCE_SCOPES

_MONITORED_SCOPES: tuple[FigureScope, ...] = ("group", "pooled")
_SOURCE = "Evenhand, mitigation"
_REASON_IF_INFINITE = (
    "the reference rate is zero, before mitigation or after it, so nothing can be divided by it"
)
_DIRECT_BIAS_ONLY = (
    "flipping removes direct bias only, so read the figures as logged and counterfactual together"
)


def _with_label(cells: AnyArray, label: int) -> AnyArray:
    return PARTS["records"].sum_cells(cells[..., label, :, :])


_CLASSIFIED = (Need(PARTS["records"].sum_cells, "no record{of} was classified"),)
_LABELLED = (Need(PARTS["records"].sum_cells, NO_LABELLED_RECORD),)
_BY_LABEL = (
    Need(partial(_with_label, label=1), PARTS["actual_favourable"].empty),
    Need(partial(_with_label, label=0), PARTS["actual_unfavourable"].empty),
)


_mitigation_row = partial(Metric, source=_SOURCE, is_default=True)
_outcome_row = partial(
    _mitigation_row, data=("mitigated",), scopes=_MONITORED_SCOPES, needs=("predictions", "copies")
)
_impact_row = partial(
    ratio_row,
    data=("mitigated",),
    scopes=REFERENCE_SCOPES,
    source=_SOURCE,
    needs=("predictions", "copies"),
    limits=(0.8, 1.25),
    disadvantage="below",
    is_default=True,
)
_counterfactual_row = partial(_impact_row, is_stored=False, redefined_on=("mitigated",))
_quality_row = partial(
    _mitigation_row,
    data=("mitigated_labelled",),
    scopes=OVERALL_SCOPES,
    direction=Direction.HIGHER,
    needs=("predictions", "labels", "copies"),
)
_CHANGE_CONVENTION = "after - before, of the same records: above 0 the figure is higher with mitigation"
_change_row = partial(_quality_row, lowest=-1.0, convention=_CHANGE_CONVENTION, is_stored=False)


def _balanced_accuracy(cell_kind: CellKind) -> SetFigure:
    return SetFigure(
        paired_cells.balanced_accuracy, cell_kind, list_needs("actual_favourable", "actual_unfavourable")
    )


ROWS = (
    _outcome_row(
        "selection_rate_before",
        "Selection rate before mitigation",
        "favourable before(g) / n(g)",
        measure=RateFigure("favourable_before"),
        scopes=GROUP_SCOPES,
        convention="the share of a group's records that the model itself gives the favourable outcome",
    ),
    _outcome_row(
        "selection_rate_after",
        "Selection rate after mitigation",
        "favourable after(g) / n(g)",
        measure=RateFigure("favourable_after"),
        scopes=GROUP_SCOPES,
        convention="the share of a group's records with a favourable mitigated outcome; reference records "
        "keep their own",
    ),
    _impact_row(
        "disparate_impact_before",
        "Disparate impact before mitigation",
        "selection_rate_before(monitored) / selection_rate_before(reference)",
        measure=RateComparison("favourable_before", RATIO),
        convention="monitored / reference, of the records alone: below 1 the monitored group is favoured "
        "less often",
    ),
    _impact_row(
        "disparate_impact_after",
        "Disparate impact after mitigation",
        "selection_rate_after(monitored) / selection_rate_after(reference)",
        measure=RateComparison("favourable_after", RATIO),
        convention="monitored / reference, of the records alone: below 1 the monitored group is favoured "
        "less often; "
        f"{_DIRECT_BIAS_ONLY}",
    ),
    _counterfactual_row(
        "counterfactual_disparate_impact_before",
        "Counterfactual disparate impact before mitigation",
        "counterfactual favourable rate before(monitored) / counterfactual favourable rate before(reference)",
        measure=RateComparison("counterfactual_before", RATIO),
        convention="monitored / reference, every record once on each side: that of counterfactual data",
    ),
    _counterfactual_row(
        "counterfactual_disparate_impact_after",
        "Counterfactual disparate impact after mitigation",
        "counterfactual favourable rate after(monitored) / counterfactual favourable rate after(reference)",
        measure=RateComparison("counterfactual_after", RATIO),
        convention="monitored / reference, every record once on each side, itself and its counterfactuals "
        "mitigated; "
        f"{_DIRECT_BIAS_ONLY}",
    ),
    _outcome_row(
        "changed_rate",
        "Changed by mitigation",
        "records with another outcome after mitigation / n(g)",
        measure=RateFigure("changed"),
        convention="lifted_rate + lowered_rate; neither more nor less is better by itself",
        is_stored=False,
    ),
    _outcome_row(
        "lifted_rate",
        "Lifted by mitigation",
        "unfavourable records that are favourable after mitigation / n(g)",
        measure=RateFigure("lifted"),
        convention="lifted: mitigation turns an unfavourable outcome favourable",
        is_stored=False,
    ),
    _outcome_row(
        "lowered_rate",
        "Lowered by mitigation",
        "favourable records that are unfavourable after mitigation / n(g)",
        measure=RateFigure("lowered"),
        convention="lowered: mitigation turns a favourable outcome unfavourable; lift_only never does",
        is_stored=False,
    ),
    _outcome_row(
        "disparate_impact_change",
        "Change of disparate impact by mitigation",
        "disparate_impact_after - disparate_impact_before",
        measure=PairFigure(
            paired_cells.disparate_impact_change,
            "changes",
            _CLASSIFIED,
            reason_if_infinite=_REASON_IF_INFINITE,
        ),
        says="Mitigation moves the disparate impact of {monitored} against {reference} by {moved}.",
        convention=_CHANGE_CONVENTION,
        lowest=None,
        highest=None,
        is_stored=False,
    ),
    _quality_row(
        "accuracy_before",
        "Accuracy before mitigation",
        "correct before(g) / n(g)",
        measure=RateFigure("correct_before"),
        ideal=1.0,
        convention="the share of labelled records whose predicted label is the actual one",
    ),
    _quality_row(
        "accuracy_after",
        "Accuracy after mitigation",
        "correct after(g) / n(g)",
        measure=RateFigure("correct_after"),
        ideal=1.0,
        convention="the share of labelled records whose mitigated label is the actual one",
    ),
    _quality_row(
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
    _quality_row(
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
    _change_row(
        "accuracy_change",
        "Change of accuracy by mitigation",
        "accuracy_after - accuracy_before",
        measure=SetFigure(paired_cells.rate_change, "corrections", _LABELLED),
        says="{Subject}, mitigation moves the accuracy by {moved_points} percentage points.",
    ),
    _change_row(
        "balanced_accuracy_change",
        "Change of balanced accuracy by mitigation",
        "balanced_accuracy_after - balanced_accuracy_before",
        measure=SetFigure(paired_cells.balanced_accuracy_change, "label_changes", _BY_LABEL),
        says="{Subject}, mitigation moves the balanced accuracy by {moved_points} percentage points.",
    ),
)
