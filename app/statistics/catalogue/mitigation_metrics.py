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
    build_ratio,
    list_needs,
)
from .quality_metrics import OVERALL_SCOPES
from .selection_metrics import GROUP_SCOPES, REFERENCE_SCOPES

_MONITORED_SCOPES: tuple[FigureScope, ...] = ("group", "pooled")
_SOURCE = "Evenhand, mitigation"
_CHANGE_CONVENTION = "after - before, of the same records: above 0 the figure is higher with mitigation"
_REASON_IF_INFINITE = (
    "the reference rate is zero, before mitigation or after it, so nothing can be divided by it"
)
_DIRECT_BIAS_ONLY = (
    "flipping removes direct bias only, so read the figures as logged and counterfactual together"
)


def _sum_with_label(cells: AnyArray, label: int) -> AnyArray:
    return PARTS["records"].sum_cells(cells[..., label, :, :])


_CLASSIFIED = (Need(PARTS["records"].sum_cells, "no record{of} was classified"),)
_LABELLED = (Need(PARTS["records"].sum_cells, NO_LABELLED_RECORD),)
_BY_LABEL = (
    Need(partial(_sum_with_label, label=1), PARTS["actual_favourable"].empty),
    Need(partial(_sum_with_label, label=0), PARTS["actual_unfavourable"].empty),
)


_build_mitigation = partial(Metric, source=_SOURCE, is_default=True)
_build_outcome = partial(
    _build_mitigation, data=("mitigated",), scopes=_MONITORED_SCOPES, needs=("predictions", "copies")
)
_build_impact = partial(
    build_ratio,
    data=("mitigated",),
    scopes=REFERENCE_SCOPES,
    source=_SOURCE,
    needs=("predictions", "copies"),
    limits=(0.8, 1.25),
    disadvantage="below",
    is_default=True,
)
_build_counterfactual_impact = partial(_build_impact, is_stored=False, redefined_on=("mitigated",))
_build_quality = partial(
    _build_mitigation,
    data=("mitigated_labelled",),
    scopes=OVERALL_SCOPES,
    direction=Direction.HIGHER,
    needs=("predictions", "labels", "copies"),
)
_build_change = partial(_build_quality, lowest=-1.0, convention=_CHANGE_CONVENTION, is_stored=False)


def _build_balanced_accuracy(cell_kind: CellKind) -> SetFigure:
    return SetFigure(
        paired_cells.balanced_accuracy, cell_kind, list_needs("actual_favourable", "actual_unfavourable")
    )


METRICS = (
    _build_outcome(
        "selection_rate_before",
        "Selection rate before mitigation",
        "favourable before(g) / n(g)",
        measure=RateFigure("favourable_before"),
        scopes=GROUP_SCOPES,
        convention="the share of a group's records that the model itself gives the favourable outcome",
    ),
    _build_outcome(
        "selection_rate_after",
        "Selection rate after mitigation",
        "favourable after(g) / n(g)",
        measure=RateFigure("favourable_after"),
        scopes=GROUP_SCOPES,
        convention="the share of a group's records with a favourable mitigated outcome; reference records "
        "keep their own",
    ),
    _build_impact(
        "disparate_impact_before",
        "Disparate impact before mitigation",
        "selection_rate_before(monitored) / selection_rate_before(reference)",
        measure=RateComparison("favourable_before", RATIO),
        convention="monitored / reference, of the records alone: below 1 the monitored group is favoured "
        "less often",
    ),
    _build_impact(
        "disparate_impact_after",
        "Disparate impact after mitigation",
        "selection_rate_after(monitored) / selection_rate_after(reference)",
        measure=RateComparison("favourable_after", RATIO),
        convention="monitored / reference, of the records alone: below 1 the monitored group is favoured "
        "less often; "
        f"{_DIRECT_BIAS_ONLY}",
    ),
    _build_counterfactual_impact(
        "counterfactual_disparate_impact_before",
        "Counterfactual disparate impact before mitigation",
        "counterfactual favourable rate before(monitored) / counterfactual favourable rate before(reference)",
        measure=RateComparison("counterfactual_before", RATIO),
        convention="monitored / reference, every record once on each side: that of counterfactual data",
    ),
    _build_counterfactual_impact(
        "counterfactual_disparate_impact_after",
        "Counterfactual disparate impact after mitigation",
        "counterfactual favourable rate after(monitored) / counterfactual favourable rate after(reference)",
        measure=RateComparison("counterfactual_after", RATIO),
        convention="monitored / reference, every record once on each side, itself and its counterfactuals "
        "mitigated; "
        f"{_DIRECT_BIAS_ONLY}",
    ),
    _build_outcome(
        "changed_rate",
        "Changed by mitigation",
        "records with another outcome after mitigation / n(g)",
        measure=RateFigure("changed"),
        convention="lifted_rate + lowered_rate; neither more nor less is better by itself",
        is_stored=False,
    ),
    _build_outcome(
        "lifted_rate",
        "Lifted by mitigation",
        "unfavourable records that are favourable after mitigation / n(g)",
        measure=RateFigure("lifted"),
        convention="lifted: mitigation turns an unfavourable outcome favourable",
        is_stored=False,
    ),
    _build_outcome(
        "lowered_rate",
        "Lowered by mitigation",
        "favourable records that are unfavourable after mitigation / n(g)",
        measure=RateFigure("lowered"),
        convention="lowered: mitigation turns a favourable outcome unfavourable; lift_only never does",
        is_stored=False,
    ),
    _build_outcome(
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
    _build_quality(
        "accuracy_before",
        "Accuracy before mitigation",
        "correct before(g) / n(g)",
        measure=RateFigure("correct_before"),
        ideal=1.0,
        convention="the share of labelled records whose predicted label is the actual one",
    ),
    _build_quality(
        "accuracy_after",
        "Accuracy after mitigation",
        "correct after(g) / n(g)",
        measure=RateFigure("correct_after"),
        ideal=1.0,
        convention="the share of labelled records whose mitigated label is the actual one",
    ),
    _build_quality(
        "balanced_accuracy_before",
        "Balanced accuracy before mitigation",
        "(TPR + TNR) / 2 before",
        measure=_build_balanced_accuracy("confusion"),
        ideal=1.0,
        says="{Subject}, {percent} of the predictions are right before mitigation, if favourable and "
        "unfavourable labels count alike.",
        convention="of one group's labelled records and the model's own outcomes; positive means favourable",
        is_stored=False,
    ),
    _build_quality(
        "balanced_accuracy_after",
        "Balanced accuracy after mitigation",
        "(TPR + TNR) / 2 after",
        measure=_build_balanced_accuracy("confusion_after"),
        ideal=1.0,
        says="{Subject}, {percent} of the predictions are right after mitigation, if favourable and "
        "unfavourable labels count alike.",
        convention="of one group's labelled records and the mitigated outcomes; positive means favourable",
        is_stored=False,
    ),
    _build_change(
        "accuracy_change",
        "Change of accuracy by mitigation",
        "accuracy_after - accuracy_before",
        measure=SetFigure(paired_cells.rate_change, "corrections", _LABELLED),
        says="{Subject}, mitigation moves the accuracy by {moved_points} percentage points.",
    ),
    _build_change(
        "balanced_accuracy_change",
        "Change of balanced accuracy by mitigation",
        "balanced_accuracy_after - balanced_accuracy_before",
        measure=SetFigure(paired_cells.balanced_accuracy_change, "label_changes", _BY_LABEL),
        says="{Subject}, mitigation moves the balanced accuracy by {moved_points} percentage points.",
    ),
)
